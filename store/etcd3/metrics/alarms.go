package metrics

import "slices"

// UpdateAlarm says whether an alarm is among those that are raised.
func UpdateAlarm(alarm string, raised []string) {
	value := 0.0
	if slices.Contains(raised, alarm) {
		value = 1
	}
	alarms.WithLabelValues(alarm).Set(value)
}
