package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/util/shufflesharding"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	priorityLevelConfigurationSpecPath = field.NewPath("spec")
	typePath                           = priorityLevelConfigurationSpecPath.Child("type")
	limitedPath                        = priorityLevelConfigurationSpecPath.Child("limited")
	exemptPath                         = priorityLevelConfigurationSpecPath.Child("exempt")
	responsePath                       = limitedPath.Child("limitResponse")
	queuingPath                        = responsePath.Child("queuing")

	enablements = sets.New(flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited)
	responses   = sets.New(flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject)
)

func validatePriorityLevelConfiguration(l *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&l.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	const onlyForOlder = flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey
	if _, ok := l.Annotations[onlyForOlder]; ok {
		errs = append(errs,
			field.Forbidden(field.NewPath("metadata", "annotations"), fmt.Sprintf("annotation '%s' is forbidden", onlyForOlder)))
	}
	isExempt := l.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt
	if isExempt != (l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt) {
		errs = append(errs, field.Invalid(typePath, l.Spec.Type, "must be 'Exempt' if and only if `name` is 'exempt'"))
	}
	errs = append(errs, validatePriorityLevelConfigurationSpec(&l.Spec)...)
	errs = append(errs, validateMandatory(l)...)
	errs = append(errs, validatePriorityLevelConfigurationStatus(l, nil)...)
	return append(errs, validateUnion(&l.Spec)...)
}

// validatePriorityLevelConfigurationUpdate checks an update as Kubernetes does: it does not compare the metadata with
// the old metadata.
func validatePriorityLevelConfigurationUpdate(l, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return validatePriorityLevelConfiguration(l)
}

func validatePriorityLevelConfigurationStatus(l, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return ValidateConditions(l.Status.Conditions,
		func(c *flowcontrolv1.PriorityLevelConfigurationCondition) string { return string(c.Type) })
}

// validateMandatory refuses changes in the spec of the mandatory levels, except for the shares of the exempt level.
func validateMandatory(l *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	fixed := mandatory(bootstrap.MandatoryPriorityLevelConfigurations, l.Name)
	if fixed == nil {
		return nil
	}
	have, but := l.Spec, ""
	if l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt {
		have.Exempt, but = fixed.Spec.Exempt, " except the 'spec.exempt' field"
	}
	if apiequality.Semantic.DeepEqual(have, fixed.Spec) {
		return nil
	}
	return field.ErrorList{field.Invalid(priorityLevelConfigurationSpecPath, builtin.Quote(l.Spec),
		fmt.Sprintf("spec of '%s'%s must equal the fixed value", l.Name, but))}
}

func validatePriorityLevelConfigurationSpec(s *flowcontrolv1.PriorityLevelConfigurationSpec) field.ErrorList {
	switch {
	case s.Type == flowcontrolv1.PriorityLevelEnablementExempt && s.Exempt != nil:
		return validateShares(s.Exempt.NominalConcurrencyShares, s.Exempt.LendablePercent, exemptPath)
	case s.Type == flowcontrolv1.PriorityLevelEnablementLimited && s.Limited != nil:
		return validateLimited(s.Limited)
	case s.Type != "" && !enablements.Has(s.Type):
		return field.ErrorList{field.NotSupported(typePath, s.Type, sets.List(enablements))}
	}
	return nil
}

func validateLimited(l *flowcontrolv1.LimitedPriorityLevelConfiguration) field.ErrorList {
	errs := validateShares(l.NominalConcurrencyShares, nil, limitedPath)
	switch r := l.LimitResponse; {
	case r.Type == flowcontrolv1.LimitResponseTypeQueue && r.Queuing != nil:
		errs = append(errs, validateQueuing(r.Queuing)...)
	case r.Type != "" && !responses.Has(r.Type):
		errs = append(errs, field.NotSupported(responsePath.Child("type"), r.Type, sets.List(responses)))
	}
	errs = append(errs, validateShares(nil, l.LendablePercent, limitedPath)...)
	if p := l.BorrowingLimitPercent; p != nil && *p < 0 {
		errs = append(errs, field.Invalid(limitedPath.Child("borrowingLimitPercent"), *p, "if specified, must be a non-negative integer"))
	}
	return errs
}

func validateShares(shares, lendable *int32, path *field.Path) (errs field.ErrorList) {
	if ptr.Deref(shares, 0) < 0 {
		errs = append(errs, field.Invalid(path.Child("nominalConcurrencyShares"), *shares, "must be a non-negative integer"))
	}
	if p := ptr.Deref(lendable, 0); p < 0 || p > 100 {
		errs = append(errs, field.Invalid(path.Child("lendablePercent"), p, "must be between 0 and 100, inclusive"))
	}
	return errs
}

const maxQueues = 10_000_000

func validateQueuing(q *flowcontrolv1.QueuingConfiguration) (errs field.ErrorList) {
	const positive = "must be positive"
	if q.QueueLengthLimit <= 0 {
		errs = append(errs, field.Invalid(queuingPath.Child("queueLengthLimit"), q.QueueLengthLimit, positive))
	}
	switch queues := queuingPath.Child("queues"); {
	case q.Queues <= 0:
		errs = append(errs, field.Invalid(queues, q.Queues, positive))
	case q.Queues > maxQueues:
		errs = append(errs, field.Invalid(queues, q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues)))
	}
	hand := queuingPath.Child("handSize")
	switch {
	case q.HandSize <= 0:
		return append(errs, field.Invalid(hand, q.HandSize, positive))
	case q.HandSize > q.Queues:
		return append(errs, field.Invalid(hand, q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues)))
	}
	if shufflesharding.RequiredEntropyBits(int(q.Queues), int(q.HandSize)) > shufflesharding.MaxHashBits {
		errs = append(errs,
			field.Invalid(hand, q.HandSize,
				fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d",
					q.Queues, q.HandSize, shufflesharding.MaxHashBits)))
	}
	return errs
}

// validateUnion requires the field that belongs to the type, and forbids the other. Kubernetes reports it last.
func validateUnion(s *flowcontrolv1.PriorityLevelConfigurationSpec) (errs field.ErrorList) {
	if s.Exempt != nil && s.Type != flowcontrolv1.PriorityLevelEnablementExempt {
		errs = append(errs, field.Forbidden(exemptPath, ""))
	}
	errs = append(errs, validateMember(s.Limited != nil, s.Type == flowcontrolv1.PriorityLevelEnablementLimited, limitedPath)...)
	if s.Type == "" {
		errs = append(errs, field.Required(typePath, ""))
	}
	if s.Limited == nil {
		return errs
	}
	r := &s.Limited.LimitResponse
	errs = append(errs, validateMember(r.Queuing != nil, r.Type == flowcontrolv1.LimitResponseTypeQueue, queuingPath)...)
	if r.Type == "" {
		errs = append(errs, field.Required(responsePath.Child("type"), ""))
	}
	return errs
}

func validateMember(given, wanted bool, path *field.Path) field.ErrorList {
	switch {
	case given && !wanted:
		return field.ErrorList{field.Forbidden(path, "")}
	case wanted && !given:
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}
