package filter

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		administratorAdmitted, flowExempt, levelFull, mayActAs, noAuditLog, noDeadline, noImpersonation, noSeatFree,
		noSeatNeeded, objectsAsked, objectsForAll, objectsRecorded, objectsRefused, queueFull, seatAwaited,
		seatAwaitedInQueue, seatGivenUp, seatThere, servedWhileStopping, serverStopping, stepsForAll, waitedInVain,
	}
}
