r"""Attribute inference: what a model tells about one feature of a record to someone who knows the others.

The attacker holds the features :math:`x_K` of a record, its label if he is said to know it, and the model h: he sees the
answer h(x) about the record, and may ask h about any other. He guesses the level of the sensitive feature :math:`x_s`
[tople2020, section 3.3]. For a binary feature his advantage is

.. math:: \mathrm{Adv}(A, h) = \Pr(A = 1 \mid x_s = 1) - \Pr(A = 1 \mid x_s = 0)

[tople2020, Def. 8]; for more levels it is the mean over the levels of the same for one level against the rest.

Most of that advantage is often none of the model's doing: features go together, and other records tell how. So each attack
stands beside the *baseline*, the attacker who knows the same but never meets the model (imputation; Jayaraman and Evans
2022), and what counts is the *gain* of the one over the other on the same records.

Two channels, and what [tople2020, Thm 7] is worth
--------------------------------------------------
Let h depend on the features :math:`x_C` alone, as a causal model does on the causes of the label, and let
:math:`x_s \notin x_C`. The theorem says that :math:`x_s` can't be inferred.

- If the attacker knows :math:`x_C`, then h(x) is a function of what he knows, and so is every answer to a query:
  :math:`\Pr(x_s \mid x_K, h(x)) = \Pr(x_s \mid x_K)`, and no attacker whatever gains anything. He may still have an
  advantage, the baseline's: "impossible to infer" holds for the gain only.
- If he does not know all of :math:`x_C`, then h(x) tells of what he lacks, and this goes together with :math:`x_s`: in
  general :math:`\Pr(x_s \mid x_K, h(x)) \neq \Pr(x_s \mid x_K)`. For these attackers the theorem as printed is false.
- If :math:`x_s \in x_C` the answer depends on it, and tells of it to the attacker who knows the rest.

The *control* separates the channels: the model is asked about the record with a random level in the place of the sensitive
one. What it still tells comes by the features that the attacker does not know; what is gained beyond it comes by the
model's own use of the sensitive feature, and is exactly 0 for a model that makes no use of it.
"""

from leakscope.attribute.evidence import AttributeAttack, AttributeEvidence, Reference
from leakscope.attribute.result import AttributeFinding, AttributeRisk, AttributeSide
from leakscope.attribute.run import attribute_inference

__all__ = [
    "AttributeAttack",
    "AttributeEvidence",
    "AttributeFinding",
    "AttributeRisk",
    "AttributeSide",
    "Reference",
    "attribute_inference",
]
