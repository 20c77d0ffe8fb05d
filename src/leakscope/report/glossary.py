"""The glossary: terms and their definitions, as reports and `docs/glossary.md` show them."""

from __future__ import annotations

TERMS = {
    "Member": "A person whose record was in the training data.",
    "Non-member": "A person from the same population as the members whose record was not in the training data.",
    "Holdout": "The records of non-members that you provide.",
    "Release": "An output made available: labels, probabilities, explanations, the parameters of the model.",
    "Feature explanation": "An attribution of a prediction to the input features, such as the gradient of the model.",
    "Record explanation": "An attribution of a prediction to training records, such as those with the most influence.",
    "Membership inference attack": "A method that scores records for membership in the training data.",
    "AUC": "How often an attack ranks a random member above a random non-member: 0.5 is chance, 1 is perfect.",
    "TPR at 1 % FPR": "The share of members that an attack identifies (true-positive rate) if it may take 1 % of the "
    "non-members for members (false-positive rate). Lay summaries call these false alarms.",
    "Advantage": "TPR minus FPR at the attack's own threshold: 0 is chance, 1 is perfect.",
    "Reference model": "A model that the audit trains in the same way on a known subset of the records.",
    "Never-trained control": "The same attack on a model that was not trained on the members. It should do no better "
    "than chance.",
    "Blind baseline": "A classifier of members against non-members that does not use the model. Above chance, it shows a "
    "distribution shift.",
    "Distribution shift": "A difference between the populations of members and holdout. Attacks detect it even if the model does not leak.",
    "Exposure": "A record's estimated vulnerability, from 0 to 1: with reference models, one minus the mean probability "
    "of its true label under them.",
    "Membership evidence": "How strongly this model shows that a record was trained on: the p-value of the hypothesis "
    "that it was not. A small p-value is strong evidence.",
    "Gap": "The AUC within a group minus the AUC of all other records.",
    "Confidence interval": "The range that contains the true value with the stated confidence. It is in brackets after "
    "the value.",
    "Simultaneous intervals": "Confidence intervals that all contain their true values at once with the stated "
    "confidence. They are corrected for the number of comparisons (multiplicity correction).",
    "Significant": "The interval, corrected for the number of comparisons, excludes the value that means no effect.",
    "Bound": "What no attack can exceed. It follows from a proof, not from attacks.",
    "ε": "The parameter of differential privacy. A smaller ε limits every attack more; a lower bound on ε comes from "
    "attacks and can refute a claimed ε.",
    "Utility": "How well a model does its task, such as its accuracy. Utility loss is what a defense takes from it.",
    "Pareto-optimal": "No other option is at least as good in everything and better in something. Other options are "
    "dominated.",
}
