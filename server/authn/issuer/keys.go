package issuer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxRSABits is the most of Go's TLS. The time of a verification grows with the cube of the size, and nothing ends one that has begun.
const maxRSABits = 8192

// moderate is a transport that refuses key sets with a key that would take too long to verify a token.
type moderate struct{ next http.RoundTripper }

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
	return resp, nil
}

// checkKeys names a key that is too large. It has no opinion of other documents.
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
