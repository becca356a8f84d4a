package audit

import (
	"fmt"
	"io"
	"os"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/plugin/pkg/audit/log"
)

// Log is an audit log. A nil Log records nothing.
type Log struct {
	Sink   audit.Sink
	Policy audit.PolicyRuleEvaluator
	out    io.Closer
}

// Open opens the log at path, "-" for standard output. The policy in policyFile says what is written.
func Open(path, policyFile string) (*Log, error) {
	rules := writesOnly
	if policyFile != "" {
		loaded, err := policy.LoadPolicyFromFile(policyFile)
		if err != nil {
			return nil, fmt.Errorf("read --audit-policy-file: %w", err)
		}
		rules = loaded
	}
	l := &Log{Policy: policy.NewPolicyRuleEvaluator(rules)}
	var out io.Writer = os.Stdout
	if path != "-" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open --audit-log-path: %w", err)
		}
		l.out, out = file, file
	}
	l.Sink = quiet{log.NewBackend(visible{out}, log.FormatJson, auditv1.SchemeGroupVersion)}
	return l, nil
}

// Close closes the file.
func (l *Log) Close() error {
	if l == nil || l.out == nil {
		return nil
	}
	return l.out.Close()
}

// writesOnly is the default policy: the metadata of every write.
var writesOnly = &auditinternal.Policy{
	OmitStages: []auditinternal.Stage{auditinternal.StageRequestReceived},
	Rules: []auditinternal.PolicyRule{
		{Level: auditinternal.LevelNone, Verbs: []string{"get", "list", "watch"}},
		{Level: auditinternal.LevelMetadata},
	},
}
