package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The errors of a continue token.
var (
	ErrInvalidStartRV = errors.New("continue key is not valid: " +
		"incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	ErrEmptyStartKey              = errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	ErrGenericInvalidKey          = errors.New("continue key is not valid")
	ErrUnrecognizedEncodedVersion = errors.New("continue key is not valid: server does not recognize this encoded version")
)

const continueVersion = "meta.k8s.io/v1"

// continueToken carries the position of a list from one page to the next, as JSON in base64. Servers of other
// versions and other implementations read it too.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

// DecodeContinue returns the key, below keyPrefix, that a list goes on from, and the revision it is read at: a negative
// one stands for the latest.
func DecodeContinue(continueValue, keyPrefix string) (fromKey string, rv int64, err error) {
	data, err := base64.RawURLEncoding.DecodeString(continueValue)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrGenericInvalidKey, err)
	}
	var token continueToken
	if err := json.Unmarshal(data, &token); err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrGenericInvalidKey, err)
	}
	switch {
	case token.APIVersion != continueVersion:
		return "", 0, fmt.Errorf("%w %v", ErrUnrecognizedEncodedVersion, token.APIVersion)
	case token.ResourceVersion == 0:
		return "", 0, ErrInvalidStartRV
	case token.StartKey == "":
		return "", 0, ErrEmptyStartKey
	}
	// The client could have written anything into its token: no part of it may lead out of keyPrefix.
	start := token.StartKey
	if !strings.HasPrefix(start, "/") {
		start = "/" + start
	}
	if path.Clean(start) != start {
		return "", 0, fmt.Errorf("%w: %v", ErrGenericInvalidKey, token.StartKey)
	}
	return keyPrefix + start[1:], token.ResourceVersion, nil
}

// EncodeContinue makes the token of a list below keyPrefix that goes on from key.
func EncodeContinue(key, keyPrefix string, resourceVersion int64) (string, error) {
	start := strings.TrimPrefix(key, keyPrefix)
	if start == key {
		return "", fmt.Errorf("unable to encode next field: the key and key prefix do not match")
	}
	data, err := json.Marshal(&continueToken{APIVersion: continueVersion, ResourceVersion: resourceVersion, StartKey: start})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(data), nil
}

// PrepareContinueToken returns the token that continues after keyLastItem, and the number of objects after this page.
// itemsCount counts the objects from the page's beginning on. With a selector the number of matches among them is
// unknown, and the count is nil.
func PrepareContinueToken(keyLastItem, keyPrefix string, resourceVersion, itemsCount int64, hasMoreItems bool, opts ListOptions) (string,
	*int64, error) {
	if !hasMoreItems {
		return "", nil, nil
	}
	// The smallest key after the last one is that key and a zero byte.
	token, err := EncodeContinue(keyLastItem+"\x00", keyPrefix, resourceVersion)
	if err != nil || !opts.Predicate.Empty() {
		return token, nil, err
	}
	remaining := itemsCount - opts.Predicate.Limit
	return token, &remaining, nil
}

// ValidateListOptions returns the revision that a list must be read at (0 for the latest) and the key it continues
// from ("" for its beginning). keyPrefix is the prefix of all keys of the list. Contradictory options are a bad
// request.
func ValidateListOptions(keyPrefix string, versioner Versioner, opts ListOptions) (withRev int64, continueKey string, err error) {
	if opts.Recursive && opts.Predicate.Continue != "" {
		continueKey, rv, err := DecodeContinue(opts.Predicate.Continue, keyPrefix)
		if err != nil {
			return 0, "", apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
		}
		if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
			return 0, "", apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
		}
		return max(rv, 0), continueKey, nil
	}
	if opts.ResourceVersion == "" {
		return 0, "", nil
	}
	parsed, err := versioner.ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return 0, "", apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	// No etcd has a revision above that, and it says so.
	rv := int64(min(parsed, math.MaxInt64))
	switch opts.ResourceVersionMatch {
	case metav1.ResourceVersionMatchExact:
		return rv, "", nil
	case metav1.ResourceVersionMatchNotOlderThan:
		// Whether the latest is new enough shows in etcd's answer.
		return 0, "", nil
	case "":
		// Before there was a match, a limit made it an exact one.
		if opts.Recursive && opts.Predicate.Limit > 0 {
			return rv, "", nil
		}
		return 0, "", nil
	}
	return 0, "", fmt.Errorf("unknown ResourceVersionMatch value: %v", opts.ResourceVersionMatch)
}
