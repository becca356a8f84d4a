package registry

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		allNamespaces, answerAlready, atLeastWanted, collectionDeleted, collectionShrunk, conflictRetried,
		deletionUnderWay, dryRunCreates, dryRunDeletes, dryRunUpdates, fieldsInvalid, finalizerCame, firstAttempt,
		firstAttemptEmpty, graceBegins, graceKept, graceNotLonger, graceOver, graceShortened, keyInNamespace,
		keyRefused, keyWithoutSpace, lastFinalizerGone, latestWanted, markedDeleting, missingCreated, missingRefused,
		nameChosen, nameGenerated, nameTaken, noGraceKnown, noGraceWanted, notDryRun, oneNamespace, removalTried,
		removedAfterMark, removedAtOnce, removedByOther, revisionMoved, selectedNamespace, selectedObject,
		storageBroken, storageHasAlready, storageHasAnother, storageHasNothing, storageTimedOut, storageUnreachable,
		whyValid,
	}
}
