package standin

import (
	"slices"
	"strings"
	"testing"
)

// TestSooner: only an etcd without other members starts sooner, unless its ticks are chosen, by flags or by variables.
func TestSooner(t *testing.T) {
	for _, test := range []struct {
		variable, args string
		sooner         bool
	}{
		{"", "--name=a", true},
		{"", "--heartbeat-interval=50", false},
		{"", "--initial-cluster=a=http://a,b=http://b", false},
		{"", "--config-file=a.yaml", false},
		{"", "gateway start", false},
		{"", "--version --nonsense=1x", false},
		{"ETCD_NAME=a", "", true},
		{"ETCD_UNKNOWN=a", "", true},
		{"ETCD_HEARTBEAT_INTERVAL=50", "", false},
		{"ETCD_ELECTION_TIMEOUT=5000", "--name=a", false},
		{"ETCD_CONFIG_FILE=a.yaml", "", false},
		{"ETCD_INITIAL_CLUSTER=a=http://a,b=http://b", "", false},
		{"ETCD_INITIAL_CLUSTER_STATE=existing", "", false},
	} {
		t.Run(test.variable+" "+test.args, func(t *testing.T) {
			if name, value, ok := strings.Cut(test.variable, "="); ok {
				t.Setenv(name, value)
			}
			args, err := EtcdArgs(strings.Fields(test.args))
			if refused := strings.Contains(test.args, "nonsense"); refused != (err != nil) {
				t.Fatal(err)
			}
			if slices.Contains(args, sooner[0]) != test.sooner {
				t.Errorf("%v", args)
			}
		})
	}
}
