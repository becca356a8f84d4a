package etcd3

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		changesFromAny, changesFromNow, changesFromRevision, changesFromState, createAtFreeKey, createOverExisting,
		createWithRevision, decodeSpared, deletedUnread, eventNotSelected, keyGone, keyMoved, keyTaken, keyUnchanged,
		keyWasFree, leaseFirst, leaseFull, leaseShared, leaseTooLong, leaseTooShort, noConflict, nothingChanged,
		readAlike, readLatest, readNothing, readNothingAllowed, readOlder, readPages, revisionRead,
		revisionReadTogether, storedWithOldKey, suggestionRefused, suggestionSame, writeConflict,
	}
}
