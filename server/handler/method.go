package handler

import (
	"context"
	"strings"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

var verbsThereAre = trace.Because("verbs-there-are", "there are {verbs:word}", "支持的有 {verbs:word}")

// MethodNotSupported returns err, the 405 for a verb that a resource lacks, and notes in a step the verbs that it has.
func MethodNotSupported(ctx context.Context, verb string, has []string, err error) error {
	_, step := trace.Start(ctx, steps.HandlerMethodNotSupported, verb)
	defer step.End(&err)
	step.WhyText(verbsThereAre, strings.Join(has, ", "))
	return err
}
