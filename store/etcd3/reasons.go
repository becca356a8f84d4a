package etcd3

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		changesFromAny, changesFromNow, changesFromRevision, changesFromState, createAtFreeKey, createOverExisting,
		createWithRevision, decidedBeforeRewind, decodeSpared,
		deletedUnread, eventNotSelected, keyFreeOtherSame, keyGone, keyMoved, keyTaken, keyUnchanged,
		keyWasFree, leaseFirst, leaseFull, leaseShared, leaseTooLong, leaseTooShort, noConflict, nothingChanged, otherGone, otherMoved,
		readAlike, readLatest, readNothing, readNothingAllowed, readOlder, readPages, revisionRead,
		revisionReadTogether, storedWithOldKey, suggestionRead, suggestionRefused, suggestionSame, writeConflict,
	}
}
