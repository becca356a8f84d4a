package wiretest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// webToken finds JSON Web Tokens, and thumbprint the names of their keys.
var (
	webToken   = regexp.MustCompile(`"(eyJ[\w-]+)\.(eyJ[\w-]+)\.[\w-]+"`)
	thumbprint = regexp.MustCompile(`("(?:kid|x|y)":")[\w-]{43}"`)
	reached    = regexp.MustCompile(`("jwks_uri":"https://)[^/]+/`)
)

// showTokens puts the header and the claims of each token into its place. Times are shown as seconds since the token
// was made.
func showTokens(text string) string {
	text = webToken.ReplaceAllStringFunc(text, func(found string) string {
		parts := webToken.FindStringSubmatch(found)
		header, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			return found
		}
		payload, err := base64.RawURLEncoding.DecodeString(parts[2])
		if err != nil {
			return found
		}
		return fmt.Sprintf("<token %s %s>", header, relativeTimes(string(payload)))
	})
	return reached.ReplaceAllString(thumbprint.ReplaceAllString(text, `$1<key>"`), "$1<server>/")
}

// relativeTimes leaves the rest of the claims as it is, the order of fields included.
func relativeTimes(claims string) string {
	var made struct {
		At int64 `json:"iat"`
	}
	if json.Unmarshal([]byte(claims), &made) != nil {
		return claims
	}
	return timeClaim.ReplaceAllStringFunc(claims, func(found string) string {
		name, value, _ := strings.Cut(found, ":")
		var at int64
		if json.Unmarshal([]byte(value), &at) != nil || name == `"iat"` {
			return name + ":<time>"
		}
		return fmt.Sprintf("%s:<time>+%d", name, at-made.At)
	})
}

var timeClaim = regexp.MustCompile(`"(exp|iat|nbf|warnafter)":\d+`)
