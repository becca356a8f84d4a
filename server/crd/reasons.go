package crd

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		builtForNobody, definitionEnding, definitionFresh, definitionNamespaced, definitionNotNamespaced,
		definitionServes, definitionServesEarly, firstRequestBuilds, handlersOfVersion, namesNotAccepted,
		noDefinition, servingInfoBuilt, servingInfoReady, servingInfoShared, subresourceMissing, versionNotServed,
	}
}
