package etcd3

import (
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// The alarms of etcd. With NOSPACE it takes no writes but deletions, with CORRUPT its members' data differ.
var (
	AlarmNoSpace = etcdserverpb.AlarmType_NOSPACE.String()
	AlarmCorrupt = etcdserverpb.AlarmType_CORRUPT.String()
)

// Alarms are those that any member has raised, as one member's status tells them. To ask for a list of them would be a
// write to etcd's log.
func Alarms(status *clientv3.StatusResponse) (raised []string) {
	for _, alarm := range []string{AlarmNoSpace, AlarmCorrupt} {
		if slices.ContainsFunc(status.Errors, func(e string) bool { return strings.Contains(e, "alarm:"+alarm) }) {
			raised = append(raised, alarm)
		}
	}
	return raised
}
