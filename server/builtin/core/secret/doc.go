// Package secret is the resource secrets: small confidential data.
//
// Defaulting moves stringData into data before anything else looks at the
// object; neither rest nor store ever sees stringData.
package secret
