"""What every report says whatever was found: how to read it, the words it uses, and where the methods come from."""

from __future__ import annotations

from typing import Any

from leakscope.evaluation.settings import REFERENCE_MODELS
from leakscope.report.words import SENTENCE_LENGTH, safe_text
from leakscope.results import Findings
from leakscope.verdict_text import LEAKS

HOW_TO_READ = (
    "A member is a person whose record the model was trained on; a non-member is somebody from the same population whose record it was not.",
    "The audit plays attacker: it looks at what the model releases about a person and guesses whether they are a member. If "
    "the guesses beat chance, whoever sees the release learns who was in the training data, which may itself be a secret: that "
    "somebody was a patient, a debtor, a suspect.",
    "Every number has a range. The truth lies inside with the confidence stated; conclusions are drawn from the ends of ranges, "
    "never from the middle.",
    "Every attack is compared with the same attack on a model that never saw the members (the never-trained control) and with a "
    "classifier that never asks the model (the blind baseline).",
)

GLOSSARY = (
    ("Member", "a person whose record was in the training data."),
    ("Non-member", "a person from the same population as the members whose record the model never saw."),
    ("Release", "what leaves the building: labels, probabilities, explanations, the parameters of the model."),
    ("Attack", "a rule that turns a release into a guess about who is a member."),
    ("False alarm", "a non-member taken for a member; its share is the false-positive rate (FPR)."),
    ("Found", "the share of members that the attack recognises, the true-positive rate (TPR), at a rate of false alarms."),
    ("AUC", "how often the attack ranks a random member above a random non-member: 0.5 is a coin, 1 is perfect."),
    ("Advantage", "members found minus false alarms, at the attack's own threshold: 0 is guessing, 1 is perfect."),
    ("Control", "the same attack where there is nothing to find: on a model that never saw the members, or with shuffled "
                "memberships. It should do no better than chance."),
    ("Blind baseline", "a classifier of members against non-members that sees the records and not the model: what a "
                       "distribution shift gives away."),
    ("Bound", "what no attack can pass, however clever; it comes from a proof, not from trying."),
    ("Exposure", "of one record: the share of non-members that look less like a member than it does. With reference models: one "
                 "minus the mean probability of its true label under them."),
    ("Reference model", "a model that the audit trains in the same way on a known subset of the records, to see how a record fares "
                        "with and without being trained on."),
    ("Leaks", f"the verdict where {LEAKS}."),
    ("Gap", "how much more exposed a group is than everybody else."),
    ("Interval, range", "the numbers between which the truth lies with the confidence stated."),
)  # fmt: skip

PAPERS = {
    "farokhi2020": "F. Farokhi and M. A. Kaafar: Modelling and Quantifying Membership Information Leakage in Machine Learning, 2020",
    "shokri2019": "R. Shokri, M. Strobel and Y. Zick: Privacy Risks of Explaining Machine Learning Models, 2019",
    "tople2020": "S. Tople, A. Sharma and A. Nori: Alleviating Privacy Attacks via Causal Learning, 2020",
    "Kairouz, Oh and Viswanath 2015": "P. Kairouz, S. Oh and P. Viswanath: The Composition Theorem for Differential Privacy, 2015",
    "Salem et al. 2019": "A. Salem, Y. Zhang, M. Humbert, P. Berrang, M. Fritz and M. Backes: ML-Leaks: Model and Data Independent "
    "Membership Inference Attacks and Defenses on Machine Learning Models, 2019",
    "Yeom et al. 2018": "S. Yeom, I. Giacomelli, M. Fredrikson and S. Jha: Privacy Risk in Machine Learning: Analyzing the "
    "Connection to Overfitting, 2018",
}


def summarize_guide(findings: Findings) -> dict[str, Any]:
    """How to read the report, its words, and the sources of the attacks that were run."""
    sources: dict[str, list[str]] = {}
    for risk in findings.risks:
        names = sources.setdefault(risk.source, [])
        if risk.attack not in names:
            names.append(risk.attack)
    cited = [*sources, *(bound.source for bound in findings.bounds)]
    cited += [str(study.settings.get("source", "")) for study in findings.studies]
    return {
        "how_to_read": list(HOW_TO_READ),
        "glossary": [{"term": term, "meaning": meaning} for term, meaning in GLOSSARY],
        "methods": [
            {"attacks": safe_text(", ".join(names), SENTENCE_LENGTH), "source": safe_text(source, SENTENCE_LENGTH)}
            for source, names in sources.items()
        ],
        "papers": [
            {"key": key, "title": title}
            for key, title in PAPERS.items()
            if any(key.split(" ")[0] in text for text in cited)
        ],
    }


def summarize_reproduction(findings: Findings) -> dict[str, str]:
    """The command that makes the audit again, or the call in Python."""
    if findings.command:
        return {"kind": "console", "text": safe_text(findings.command, 2000)}
    settings = findings.settings
    if findings.target.task == "scores":
        split = settings.get("random split", False)
        shown = f"ls.audit_scores(scores, member, seed={settings.get('seed', 0)}, random_split={split})"
        return {"kind": "python", "text": shown}
    usual = {"releases": None, "references": REFERENCE_MODELS, "random split": False}
    given = {name: settings.get(name, value) for name, value in usual.items()}
    more = "".join(f", {name.replace(' ', '_')}={value!r}" for name, value in given.items() if value != usual[name])
    call = (
        f"ls.audit(model, train, holdout, seed={settings.get('seed', 0)}, confidence={settings.get('confidence', 0.95)}, "
        f"margin={settings.get('margin', 0.05)}, retrain={settings.get('retrain', True)}, "
        f"drop_overlap={settings.get('drop overlap', False)}{more})"
    )
    return {"kind": "python", "text": safe_text(call, 2000)}
