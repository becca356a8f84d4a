package factory

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/etcd3"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// AlarmError says that etcd's members have raised alarms.
type AlarmError struct {
	Alarms []string
}

func (e *AlarmError) Error() string {
	var says []string
	for _, alarm := range e.Alarms {
		switch alarm {
		case etcd3.AlarmNoSpace:
			says = append(says, alarm+": etcd is full and takes only deletions")
		case etcd3.AlarmCorrupt:
			says = append(says, alarm+": the data of etcd's members differ")
		}
	}
	return strings.Join(says, "; ")
}

// Corrupt says that etcd's members differ, so that what is read may be wrong.
func (e *AlarmError) Corrupt() bool { return slices.Contains(e.Alarms, etcd3.AlarmCorrupt) }

// askAlarms asks the first member that answers: every member knows the alarms of all.
func askAlarms(ctx context.Context, t *transport) error {
	for _, endpoint := range t.endpoints() {
		status, err := t.client.Status(ctx, endpoint)
		if err != nil {
			continue
		}
		if raised := noteAlarms(status); len(raised) > 0 {
			return &AlarmError{raised}
		}
		return nil
	}
	return nil // whether etcd answers is another check
}

// noteAlarms tells the metrics of the alarms.
func noteAlarms(status *clientv3.StatusResponse) []string {
	raised := etcd3.Alarms(status)
	metrics.UpdateAlarm(etcd3.AlarmNoSpace, raised)
	metrics.UpdateAlarm(etcd3.AlarmCorrupt, raised)
	return raised
}

// nearlyFull is the part of its quota from which on etcd is said to be filling up.
const nearlyFull = 0.9

// alarmLog tells of each alarm, and of a database that is nearly full, once when it begins and once when it is over.
type alarmLog struct {
	log  *slog.Logger
	told map[string]bool
}

func (l *alarmLog) note(status *clientv3.StatusResponse) {
	raised := noteAlarms(status)
	for _, alarm := range []string{etcd3.AlarmNoSpace, etcd3.AlarmCorrupt} {
		is := slices.Contains(raised, alarm)
		if is && !l.told[alarm] {
			l.log.Error("etcd has raised an alarm", "alarm", alarm, "means", (&AlarmError{[]string{alarm}}).Error())
		} else if !is && l.told[alarm] {
			l.log.Info("etcd's alarm is over", "alarm", alarm)
		}
		l.told[alarm] = is
	}
	const filling = "filling"
	is := status.DbSizeQuota > 0 && float64(status.DbSize) >= nearlyFull*float64(status.DbSizeQuota)
	if is && !l.told[filling] {
		l.log.Warn("etcd is nearly full: when it is, it takes only deletions; kx etcd top says what fills it, kx etcd compact and kx etcd defrag free what is no longer needed",
			"bytes", status.DbSize, "quota", status.DbSizeQuota)
	}
	l.told[filling] = is
}
