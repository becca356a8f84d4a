package cacher

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		cacheBehind, cacheFirstRead, cacheNotReady, cacheRefilled, cacheUnreadable, cachedAny, cachedAtLeast,
		cachedAtRevision, cachedNewer, exactBehind, exactCompacted, exactForgotten, keyIsEmpty, keyNotCachedYet,
		latestBehind, latestNotReady, listedAny, listedAtLeast, listedCaughtUp, listedCaughtUpShared, listedExactly,
		listedLatest, listedLatestShared, suggestionAgrees, suggestionAhead, suggestionBehind, suggestionCached,
		suggestionMissing, suggestionUnready, watchFromEtcd, watchFromHistory, watchFromNow, watchFromState, watchRefused, watchUncached,
	}
}
