// Package secret is the resource secrets: small data that is not for every eye.
//
// What clients write into stringData moves into data when defaults are set, that is before anything else looks at the
// object; neither rest nor store ever sees stringData.
package secret
