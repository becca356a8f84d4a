package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/authn/bearer"
)

// liar is an issuer that answers what a test wants: one handler a path.
type liar struct {
	url, ca string
	key     *ecdsa.PrivateKey

	mu    sync.Mutex
	pages map[string]http.HandlerFunc
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{key: key, pages: map[string]http.HandlerFunc{}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		page := l.pages[r.URL.Path]
		l.mu.Unlock()
		if page == nil {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(server.Close)
	l.url, l.ca = server.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	l.serve("/.well-known/openid-configuration", document(map[string]any{"issuer": l.url, "jwks_uri": l.url + "/keys"}))
	l.serve("/keys", document(map[string]any{"keys": []any{l.jwk()}}))
	return l
}

func document(of any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(of) // whoever asks sees that it is cut
	}
}

func (l *liar) serve(path string, page http.HandlerFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages[path] = page
}

func (l *liar) jwk() map[string]any {
	point, err := l.key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return map[string]any{"kty": "EC", "crv": "P-256", "kid": "one", "use": "sig", "x": encode(point[1:33]), "y": encode(point[33:])}
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// token signs a payload as it is, below a header as it is.
func (l *liar) token(t *testing.T, header, payload string) string {
	t.Helper()
	text := encode([]byte(header)) + "." + encode([]byte(payload))
	hash := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, l.key, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// payload has the claims of a good token, with others behind them.
func (l *liar) payload(more string) string {
	now := time.Now()
	return fmt.Sprintf(`{"iss":%q,"aud":"kx","sub":"ann","iat":%d,"exp":%d%s}`, l.url, now.Unix(), now.Add(time.Hour).Unix(), more)
}

func (l *liar) configured(rest string) string {
	return configured("jwt:\n" + fmt.Sprintf("- issuer: {url: %q, audiences: [kx], certificateAuthority: %s}\n%s\n", l.url, quoted(l.ca), rest))
}

// believed are the issuers of a server that believes the liar alone.
func (l *liar) believed(t *testing.T, c Config) *Issuers {
	t.Helper()
	c.File = filepath.Join(t.TempDir(), "authentication.yaml")
	write(t, c.File, l.configured(bySub))
	i, err := newIssuers(t, c)
	if err != nil {
		t.Fatal(err)
	}
	reached(t, i)
	return i
}

const bySub = "  claimMappings: {username: {claim: sub, prefix: ''}}"

// TestDocumentsThatLie: what an issuer answers instead of its configuration is bounded, and no error quotes it.
func TestDocumentsThatLie(t *testing.T) {
	t.Parallel()
	endless := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			line := strings.Repeat("hidden words ", 10_000)
			for n := 0; n < 8*mostBytes; n += len(line) {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		page http.HandlerFunc
		want string
	}{
		"endless":              {endless(200), "it answered more than 1048576 bytes"},
		"endless and failing":  {endless(500), "500 Internal Server Error"},
		"redirect to nowhere":  {endless(302), "302 Found"},
		"choices":              {endless(300), "300 Multiple Choices"},
		"redirect without end": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "stopped after 10 redirects"},
		"redirect to a file": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, "unsupported protocol scheme"},
		"another issuer": {document(map[string]any{"issuer": "https://other.example", "jwks_uri": "https://other.example/keys"}), "issuer did not match the issuer returned by provider"},
		"a page":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hidden words</html>") }, "invalid character"},
		"no address for the keys": {func(w http.ResponseWriter, r *http.Request) {
			document(map[string]any{"issuer": "https://" + r.Host})(w, r)
		}, "did not return JWKS URL"},
		"nothing":                  {func(http.ResponseWriter, *http.Request) {}, "unexpected end of JSON input"},
		"a document without depth": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("[", 100_000)) }, "exceeded max depth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t)
			l.serve("/.well-known/openid-configuration", c.page)
			i, _, err := fromFile(t, l.configured(bySub))
			if err != nil {
				t.Fatal(err)
			}
			var rejections []*bearer.Rejection
			until(t, "the issuer is asked", func() bool {
				_, _, err := i.AuthenticateToken(t.Context(), l.token(t, `{"alg":"ES256","kid":"one"}`, l.payload("")))
				rejections, _ = bearer.SplitRejections(err)
				return len(rejections) == 1 && !strings.Contains(rejections[0].Text, "is not initialized")
			})
			text := rejections[0].Text
			if rejections[0].Why != issuerAway || !strings.Contains(text, c.want) || strings.Contains(text, "hidden words") || len(text) > 1000 {
				t.Errorf("%d bytes: %.300s, want %s", len(text), text, c.want)
			}
		})
	}
}

// TestKeysThatLie: keys that are too large, too many or of no use let nobody in, and those beside them count.
func TestKeysThatLie(t *testing.T) {
	t.Parallel()
	big := func(bits int) map[string]any {
		n := make([]byte, bits/8)
		for i := range n {
			n[i] = 0xff
		}
		return map[string]any{"kty": "RSA", "kid": "big", "use": "sig", "n": encode(n), "e": encode([]byte{1, 0, 1})}
	}
	many := func(n int, of map[string]any) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = of
		}
		return out
	}
	for name, c := range map[string]struct {
		keys   func(*liar) []any
		header string
		sign   func(header, payload string) string
		want   string
	}{
		"RSA of 512 bits":    {keys: func(*liar) []any { return many(1, big(512)) }, header: `{"alg":"RS256","kid":"big"}`, sign: signedBy(512 / 8), want: "failed to verify signature"},
		"RSA of 64 kilobits": {keys: func(*liar) []any { return many(1, big(1<<16)) }, header: `{"alg":"RS256","kid":"big"}`, sign: signedBy(1 << 13), want: "has 65536 bits"},
		"RSA with e=1": {keys: func(*liar) []any {
			one := big(2048)
			one["e"] = encode([]byte{1})
			return many(1, one)
		}, header: `{"alg":"RS256","kid":"big"}`, sign: paddedBy(2048 / 8), want: "failed to verify signature"},
		"the public key as a password": {keys: func(l *liar) []any { return many(1, l.jwk()) }, header: `{"alg":"HS256","kid":"one"}`, want: "unsupported algorithm"},
		"a password among the keys": {keys: func(*liar) []any {
			return many(1, map[string]any{"kty": "oct", "kid": "one", "k": encode([]byte("password"))})
		},
			header: `{"alg":"HS256","kid":"one"}`, want: "unsupported algorithm"},
		"no keys": {keys: func(*liar) []any { return []any{} }, header: `{"alg":"ES256","kid":"one"}`, want: "failed to verify signature"},
		"too many to read": {keys: func(l *liar) []any { return many(10_000, l.jwk()) }, header: `{"alg":"ES256","kid":"one"}`,
			want: "it answered more than 1048576 bytes"},
		"beside one that is none": {keys: func(l *liar) []any {
			return []any{map[string]any{"kty": "EC", "crv": "P-256", "kid": "no", "x": "AA", "y": "AA"}, l.jwk()}
		},
			header: `{"alg":"ES256","kid":"one"}`, want: "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t)
			l.serve("/keys", document(map[string]any{"keys": c.keys(l)}))
			i, _, err := fromFile(t, l.configured(bySub))
			if err != nil {
				t.Fatal(err)
			}
			reached(t, i)
			token := l.token(t, c.header, l.payload(""))
			if strings.Contains(c.header, "HS256") {
				token = hashed(c.header, l.payload(""), l)
			} else if c.sign != nil {
				token = c.sign(c.header, l.payload(""))
			}
			if got := shown(i, token); !meets(got, c.want) || len(got) > 1000 {
				t.Errorf("%.300s, want %s", got, c.want)
			}
		})
	}
}

// signedBy signs with bytes that are no signature.
func signedBy(size int) func(header, payload string) string {
	return func(header, payload string) string {
		return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + encode(make([]byte, size))
	}
}

// paddedBy signs with the padded hash itself, which a key with e=1 would take.
func paddedBy(size int) func(header, payload string) string {
	return func(header, payload string) string {
		text := encode([]byte(header)) + "." + encode([]byte(payload))
		hash := sha256.Sum256([]byte(text))
		info := append([]byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}, hash[:]...)
		sig := append([]byte{0, 1}, []byte(strings.Repeat("\xff", size-3-len(info)))...)
		sig = append(append(sig, 0), info...)
		return text + "." + encode(sig)
	}
}

// hashed signs with what is public.
func hashed(header, payload string, l *liar) string {
	text := encode([]byte(header)) + "." + encode([]byte(payload))
	point, err := l.key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, point)
	_, _ = mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// TestTokensThatLie: a token counts by its signature and its claims alone, whatever its header names and however its claims are written.
func TestTokensThatLie(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	elsewhere := newLiar(t)
	i, _, err := fromFile(t, l.configured(bySub+`
  claimValidationRules: [{expression: "!has(claims.list) || dyn(claims.list).all(x, dyn(claims.list).all(y, dyn(claims.list).all(z, x + y + z >= 0.0)))", message: never}]`))
	if err != nil {
		t.Fatal(err)
	}
	reached(t, i)
	const header = `{"alg":"ES256","kid":"one"}`
	good := l.token(t, header, l.payload(""))
	claimed := func(claims string) string {
		return l.token(t, header, fmt.Sprintf(`{"iss":%q,"sub":"ann"%s}`, l.url, claims))
	}
	until := fmt.Sprintf(`,"aud":"kx","exp":%d`, time.Now().Add(time.Hour).Unix())
	parts := strings.Split(good, ".")
	for name, c := range map[string]struct{ token, want string }{
		"good":                        {good, "ann|||"},
		"alg none":                    {encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", "error: "},
		"alg None":                    {encode([]byte(`{"alg":"None","kid":"one"}`)) + "." + parts[1] + "." + parts[2], "error: "},
		"alg of another curve":        {l.token(t, `{"alg":"ES512","kid":"one"}`, l.payload("")), "failed to verify signature"},
		"a path as the key":           {l.token(t, `{"alg":"ES256","kid":"../../keys"}`, l.payload("")), "failed to verify signature"},
		"keys elsewhere":              {elsewhere.token(t, fmt.Sprintf(`{"alg":"ES256","kid":"two","jku":%q,"x5u":%[1]q}`, elsewhere.url+"/keys"), l.payload("")), "failed to verify signature"},
		"its own key":                 {elsewhere.token(t, `{"alg":"ES256","kid":"one","jwk":`+text(elsewhere.jwk())+`}`, l.payload("")), "error: "},
		"what nobody understands":     {l.token(t, `{"alg":"ES256","kid":"one","crit":["b64"],"b64":false}`, l.payload("")), "error: "},
		"no signature":                {parts[0] + "." + parts[1] + ".", "error: "},
		"another payload":             {parts[0] + "." + encode([]byte(l.payload(`,"a":"b"`))) + "." + parts[2], "failed to verify signature"},
		"two subjects":                {l.token(t, header, l.payload(`,"sub":"eve"`)), "eve|||"},
		"two issuers":                 {l.token(t, header, l.payload(`,"iss":"https://other.example"`)), "none whom the server believes"},
		"a subject that is a list":    {l.token(t, header, l.payload(`,"sub":["ann"]`)), "error: "},
		"a million letters":           {l.token(t, header, l.payload(`,"sub":"`+strings.Repeat("a", 1<<20)+`"`)), strings.Repeat("a", 1<<20) + "|||"},
		"deep":                        {l.token(t, header, l.payload(`,"deep":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000))), "nobody"},
		"audiences":                   {claimed(until + `,"aud":[` + strings.Repeat(`"x",`, 10_000) + `"kx"]`), "ann|||"},
		"other audiences":             {claimed(until + `,"aud":[` + strings.Repeat(`"x",`, 10_000) + `"y"]`), "error: "},
		"audiences that are none":     {claimed(until + `,"aud":[{"kx":true}]`), "error: "},
		"ends never":                  {claimed(`,"aud":"kx"`), "error: "},
		"ends with a word":            {claimed(`,"aud":"kx","exp":"tomorrow"`), "error: "},
		"ended before time began":     {claimed(`,"aud":"kx","exp":-1e30`), "error: "},
		"ends when numbers do":        {claimed(`,"aud":"kx","exp":1e300`), "error: "},
		"not yet":                     {claimed(until + fmt.Sprintf(`,"nbf":%d`, time.Now().Add(time.Hour).Unix())), "error: "},
		"an expression without end":   {claimed(until + `,"list":[` + strings.Repeat("1,", 2000) + "1]"), "error: "},
		"groups of another issuer":    {claimed(until + `,"_claim_names":{"groups":"g"},"_claim_sources":{"g":{"endpoint":"` + elsewhere.url + `/keys"}}`), "ann|||"},
		"a subject that moves a line": {l.token(t, header, l.payload(`,"sub":"a\u0000\u202e\u001b[31m"`)), "a\x00\u202e\x1b[31m|||"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := shown(i, c.token); got != c.want && (strings.Contains(c.want, "|") || !meets(got, strings.TrimPrefix(c.want, "error: "))) {
				t.Errorf("%.300s, want %.300s", got, c.want)
			}
		})
	}
}

func text(of any) string {
	data, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestKeysThatChange has an issuer that withdraws its key. A token of the old key ends to count although nobody shows one of the new
// key, and one of the new key counts although the issuer said that the old one may be kept for years.
func TestKeysThatChange(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"kept for no time": {},
		"kept for years":   {"Cache-Control": {"max-age=315360000"}},
		"kept until 2099":  {"Expires": {"Thu, 01 Jan 2099 00:00:00 GMT"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t)
			keys := func(keys ...any) {
				page := document(map[string]any{"keys": keys})
				l.serve("/keys", func(w http.ResponseWriter, r *http.Request) {
					maps.Copy(w.Header(), header)
					page(w, r)
				})
			}
			keys(l.jwk())
			i := l.believed(t, Config{KeysFor: 10 * time.Millisecond})
			before := l.token(t, `{"alg":"ES256","kid":"one"}`, l.payload(""))
			if got := shown(i, before); !meets(got, "ann|||") {
				t.Fatalf("the token is %s", got)
			}

			// While the issuer is away, what is known of it counts.
			gone := make(chan struct{}, 1)
			l.serve("/keys", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
				select {
				case gone <- struct{}{}:
				default:
				}
			})
			for range 2 {
				select {
				case <-gone:
				case <-time.After(limit):
					t.Fatal("the keys are not fetched again")
				}
			}
			if got := shown(i, before); !meets(got, "ann|||") {
				t.Errorf("while the issuer is away, the token is %s", got)
			}

			// The new key has the name of the old one.
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			l.key = key
			keys(l.jwk())
			refused := func(token string) func() bool {
				return func() bool { return meets(shown(i, token), "failed to verify id token signature") }
			}
			until(t, "a token of the old key is refused", refused(before))
			if got := shown(i, l.token(t, `{"alg":"ES256","kid":"one"}`, l.payload(""))); !meets(got, "ann|||") {
				t.Errorf("a token of the new key is %s", got)
			}
			keys()
			after := l.token(t, `{"alg":"ES256","kid":"one"}`, l.payload(""))
			until(t, "a token is refused whose key was withdrawn without another", refused(after))
		})
	}
}
