r"""Attribute inference: what a model reveals about one feature of a record to an attacker who knows the others.

The attacker has the features :math:`x_K` of a record, optionally its label, and the model h: it sees the output h(x) for the record, and
may query h with any other record. It infers the level of the sensitive feature :math:`x_s` [tople2020, section 3.3]. For a binary
feature the advantage of an attack is

.. math:: \mathrm{Adv}(A, h) = \Pr(A = 1 \mid x_s = 1) - \Pr(A = 1 \mid x_s = 0)

[tople2020, Def. 8]; for more levels it is the mean over the levels of the same for one level against the rest.

Much of this advantage is often not due to the model, because features are correlated. Each attack is therefore compared with the
*baseline*, an attacker who knows the same but does not have the model (imputation; Jayaraman and Evans 2022). The measure is the *gain*
over the baseline on the same records.

Two channels, and the limits of [tople2020, Thm 7]
--------------------------------------------------
Let h depend on the features :math:`x_C` alone, as a causal model does on the causes of the label, and let
:math:`x_s \notin x_C`. The theorem says that :math:`x_s` can't be inferred.

- If the attacker knows :math:`x_C`, then h(x) is a function of what is known, and so is every answer to a query:
  :math:`\Pr(x_s \mid x_K, h(x)) = \Pr(x_s \mid x_K)`, and no attack has a gain. The attacker may still have the advantage of the baseline:
  "impossible to infer" holds for the gain only.
- If the attacker does not know all of :math:`x_C`, then h(x) reveals something about the missing features, which are correlated with :math:`x_s`:
  in general :math:`\Pr(x_s \mid x_K, h(x)) \neq \Pr(x_s \mid x_K)`. For these attackers the theorem as printed is false.
- If :math:`x_s \in x_C`, the output depends on it, and reveals it to an attacker who knows the rest.

The *control* separates the channels: the model is queried with a random level in place of the sensitive one. What it still reveals comes
from the features that the attacker does not know. The gain beyond the control comes from the model's own use of the sensitive feature, and
is exactly 0 for a model that does not use it.
"""

from leakscope.attacks.attributes import AttributeAttack, AttributeEvidence, Reference
from leakscope.studies.attributes.result import (
    AttributeFinding,
    AttributeRisk,
    Attributes,
    AttributeSide,
    SensitiveColumn,
)
from leakscope.studies.attributes.run import attribute_inference, attributes

__all__ = [
    "AttributeAttack", "AttributeEvidence", "AttributeFinding", "AttributeRisk", "AttributeSide", "Attributes", "Reference",
    "SensitiveColumn", "attribute_inference", "attributes",
]  # fmt: skip
