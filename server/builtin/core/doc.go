// Package core declares the resources of the group without a name, but pods and services, which have rooms of their own
// below it. What several resources share is there too: core/podspec, core/claim, core/amount and core/nodelabel.
package core
