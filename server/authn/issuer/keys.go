package issuer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pquerna/cachecontrol"
)

// maxRSABits is the limit of Go's TLS. The time of a verification grows with the cube of the size, and no context ends
// it.
const maxRSABits = 8192

// moderate is a transport that refuses key sets with a key that would take too long to verify a token. It also limits
// the cache time of an answer to most, because the library does not fetch keys earlier, not even for a token of a new
// key.
type moderate struct {
	next http.RoundTripper
	most time.Duration
}

func (m moderate) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := m.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // all of it was read
	if err == nil {
		err = checkKeys(body)
	}
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	_, until, err := cachecontrol.CachableResponse(req, resp, cachecontrol.Options{})
	if err == nil && time.Until(until) > m.most {
		for _, name := range []string{"Age", "Date", "Expires", "Last-Modified", "Pragma"} {
			resp.Header.Del(name)
		}
		resp.Header.Set("Cache-Control", fmt.Sprintf("max-age=%d", int(m.most.Seconds())))
	}
	return resp, nil
}

// checkKeys returns an error that names a key that is too large. It ignores other documents.
func checkKeys(document []byte) error {
	var set struct {
		Keys []struct {
			ID      string `json:"kid"`
			Modulus string `json:"n"`
		} `json:"keys"`
	}
	if json.Unmarshal(document, &set) != nil {
		return nil
	}
	for i, key := range set.Keys {
		if bits := 8 * base64.RawURLEncoding.DecodedLen(len(key.Modulus)); bits > maxRSABits {
			return fmt.Errorf("its key %d, %.100q, has %d bits, and at most %d are verified", i, key.ID, bits, maxRSABits)
		}
	}
	return nil
}
