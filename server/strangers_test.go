package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"k8s.io/client-go/rest"
)

// dial opens a connection with the credentials of a client, for a protocol. It ends when the test's patience does.
func (r *running) dial(t *testing.T, client *rest.Config, protocol string) *tls.Conn {
	t.Helper()
	config, err := rest.TLSConfigFor(client)
	must(t, err)
	config.NextProtos = []string{protocol}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(r.URL, "https://"), config)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

// TestNamesOfStrangersAreNotCounted: clients without rights create no metrics by the names in their requests.
func TestNamesOfStrangersAreNotCounted(t *testing.T) {
	t.Parallel()
	r := start(t)
	stranger, admin := r.anyone(t), r.httpClient(t)
	for i := range 20 {
		odd := fmt.Sprintf("oddity%d", i)
		for _, path := range []string{
			"/" + odd, "/healthz/" + odd, "/version?" + odd + "=1", "/openapi/v3/" + odd,
			"/api/" + odd, "/api/v1/" + odd, "/api/v1/namespaces/" + odd + "/pods/" + odd, "/api/v1/namespaces/default/pods/p/" + odd,
			"/apis/" + odd + "/v1/things", "/apis/apps/" + odd + "/deployments", "/apis/kx.dev/v1alpha1/" + odd,
		} {
			for _, method := range []string{"GET", "POST", strings.ToUpper(odd)} {
				_, _ = ask(t, stranger, method, r.URL+path, nil, "User-Agent: "+odd, "Accept: a/"+odd, "Content-Type: a/"+odd)
			}
		}
		_, _ = ask(t, stranger, "GET", r.URL+"/api", nil, "Authorization: Bearer "+odd, "Impersonate-User: "+odd)
	}
	_, body := ask(t, admin, "GET", r.URL+"/metrics", nil)
	for line := range strings.Lines(string(body)) {
		if strings.Contains(strings.ToLower(line), "oddity") {
			t.Errorf("%s", line)
		}
	}
	if !bytes.Contains(body, []byte("apiserver_request_total")) {
		t.Errorf("there are no metrics of requests: %.300s", body)
	}
}

// TestHeadersThatGoOn has a client of HTTP/2 whose headers continue without an end.
func TestHeadersThatGoOn(t *testing.T) {
	t.Parallel()
	r := start(t)
	conn := r.dial(t, rest.AnonymousClientConfig(r.config), http2.NextProtoTLS)
	_, err := io.WriteString(conn, http2.ClientPreface)
	f := http2.NewFramer(conn, conn)
	must(t, errors.Join(err, f.WriteSettings()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	var block bytes.Buffer
	must(t, hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: "a", Value: strings.Repeat("x", 8<<10), Sensitive: true}))
	must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true}))
	sent := 0
	for ; sent < 64<<20; sent += block.Len() {
		if f.WriteContinuation(1, false, block.Bytes()) != nil {
			break
		}
	}
	if sent >= 64<<20 {
		t.Errorf("the server took %d bytes of one header", sent)
	}
	<-ended
}

// codesOn are the codes of all answers on a connection, two at most, and how it ended.
func codesOn(conn io.Reader) (codes []int, err error) {
	from := bufio.NewReader(conn)
	for len(codes) < 2 {
		res, err := http.ReadResponse(from, nil)
		if err != nil {
			return codes, err
		}
		codes = append(codes, res.StatusCode)
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return codes, err
		}
	}
	return codes, nil
}

// TestMessagesThatTwoReadDifferently has requests of HTTP/1.1 that another server, in front of this one, might take for more or fewer
// requests, and some that are large in a part that is easily left uncounted. Each is refused, and its connection ends. An administrator
// sends them, who may do all that is accepted.
func TestMessagesThatTwoReadDifferently(t *testing.T) {
	t.Parallel()
	r := start(t)
	const begin, next = "GET /version HTTP/1.1\r\nHost: kx\r\n", "GET /readyz HTTP/1.1\r\nHost: kx\r\n\r\n"
	const object = `{"metadata":{"generateName":"a-"}}`
	const chunks = "POST /api/v1/namespaces/default/configmaps?dryRun=All HTTP/1.1\r\nHost: kx\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(object), object)
	extended := ""
	for _, one := range object {
		extended += "1;" + strings.Repeat("a", 4000) + "\r\n" + string(one) + "\r\n"
	}
	for name, text := range map[string]string{
		"well-formed":                 chunks + chunk + "0\r\n\r\n" + next,
		"two lengths":                 begin + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx" + next,
		"a length with a sign":        begin + "Content-Length: +1\r\n\r\nx" + next,
		"a length that is none":       begin + "Content-Length: \r\n\r\n" + next,
		"an encoding that is none":    begin + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + next,
		"two encodings":               begin + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + next,
		"a chunk that ends in LF":     chunks + strings.Replace(chunk, "\r", ";a", 1) + "0\r\n\r\n" + next,
		"a chunk of a negative size":  chunks + "-1\r\nx\r\n" + chunk + "0\r\n\r\n" + next,
		"long extensions of chunks":   chunks + extended + "0\r\n\r\n" + next,
		"a name with a space":         begin + "Content-Length : 1\r\n\r\nx" + next,
		"two hosts":                   "GET /version HTTP/1.1\r\nHost: kx\r\nHost: other\r\n\r\n" + next,
		"a header of two megabytes":   "GET /version HTTP/1.1\r\nHost: kx\r\nA: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"two megabytes of headers":    "GET /version HTTP/1.1\r\nHost: kx\r\n" + strings.Repeat("A: x\r\n", 400_000) + "\r\n",
		"a query of two megabytes":    "GET /version?" + strings.Repeat("a&", 1<<20) + " HTTP/1.1\r\nHost: kx\r\n\r\n",
		"a space before a name":       "GET /version HTTP/1.1\r\nHost: kx\r\n Content-Length: 1\r\n\r\nx" + next,
		"a line feed within a header": "GET /version HTTP/1.1\r\nHost: kx\r\nA: b\rContent-Length: 1\r\n\r\nx" + next,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := r.dial(t, r.config, "http/1.1")
			wrote := make(chan struct{})
			go func() {
				defer close(wrote)
				_, _ = io.WriteString(conn, text) // it may be refused before its end
			}()
			codes, err := codesOn(conn)
			switch {
			case name == "well-formed":
				if !slices.Equal(codes, []int{http.StatusCreated, http.StatusOK}) {
					t.Errorf("%d (%v)", codes, err)
				}
			case len(codes) > 1 || len(codes) == 1 && codes[0] < 400 || errors.Is(err, os.ErrDeadlineExceeded):
				t.Errorf("%d (%v)", codes, err)
			}
			_ = conn.Close()
			<-wrote
		})
	}
}

// TestTokensOfDots has tokens that split into very many parts.
func TestTokensOfDots(t *testing.T) {
	r := start(t)
	stranger := r.anyone(t)
	_, _ = ask(t, stranger, "GET", r.URL+"/version", nil) // opens the connection
	for _, dots := range []int{3, 1000, 900_000} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, body := ask(t, stranger, "GET", r.URL+"/version", nil, "Authorization: Bearer "+strings.Repeat(".", dots))
		runtime.ReadMemStats(&after)
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%d dots: %s %.300s", dots, res.Status, body)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; *measureMemory && took > 14 {
			t.Errorf("%d dots: %d MiB were allocated", dots, took)
		}
	}
}

// TestYAMLThatTakesLong has texts that some decoders of YAML take minutes for, or end the process by.
func TestYAMLThatTakesLong(t *testing.T) {
	r := shared(t)
	client := r.httpClient(t)
	const size = 1 << 20
	fill := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	for name, text := range map[string]string{
		"brackets":            fill("["),
		"braces":              fill("{"),
		"pairs":               fill("{a:"),
		"items":               fill("- "),
		"items of mappings":   fill("- a: "),
		"questions":           fill("? "),
		"keys in a flow":      "[" + fill("a, ") + "]",
		"keys without values": "{" + fill("a,") + "}",
		"quotes in a flow":    "[" + fill(`"a",`) + `"`,
		"tags":                "a: " + fill("!a "),
		"anchors":             fill("&a "),
		"nested anchors":      "a: " + fill("&a ["),
		"directives":          fill("%YAML 1.1\n"),
		"documents":           fill("---\n"),
		"comments":            fill("#\n") + "a: [",
		"spaces":              fill(" ") + "a: [",
		"indented": func() (s string) {
			for i := range 1400 {
				s += strings.Repeat(" ", i) + "a:\n"
			}
			return s
		}(),
		"a tag cut off":   "0: [:!00 \xef",
		"merged with all": "a: &a {<<: *a}",
		"itself":          "&a [*a]",
	} {
		t.Run(name, func(t *testing.T) {
			for _, request := range []struct{ method, path, contentType string }{
				{"POST", "/configmaps", "application/yaml"}, {"PATCH", "/configmaps/a?fieldManager=m", asApply},
			} {
				path := r.URL + "/api/v1/namespaces/default" + request.path
				res, body := ask(t, client, request.method, path, strings.NewReader(text), "Content-Type: "+request.contentType)
				if res.StatusCode < 400 || res.StatusCode >= 500 {
					t.Errorf("%s: %s %.300s", request.method, res.Status, body)
				}
			}
		})
	}
}

// TestDefinitionsThatCrash has definitions that ended kube-apiservers, at once or with the first object. They are refused, or serve.
func TestDefinitionsThatCrash(t *testing.T) {
	r := shared(t)
	client := r.httpClient(t)
	for i, test := range []struct{ schema, more string }{
		{`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","pattern":"+"}}}}}`, ""},
		{`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","pattern":"(?<x"}}}}}`, ""},
		{`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"object",
"items":{"type":"object","properties":{"b":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"0 <= self.b"}]}}}}}}`, ""},
		{`{"type":"object","properties":{"spec":{"$ref":"#/properties/spec"}}}`, ""},
		{`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true}}}}}`, ""},
		{`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`,
			`,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.a","statusReplicasPath":".status.a"}}`},
		{`{"type":"object"}`, `,"subresources":{"status":{}}`},
		{`{"type":"object","properties":{"spec":{"type":"array"}}}`, ""},
		{`null`, ""},
	} {
		group := fmt.Sprintf("crash%d.example.com", i)
		definition := fmt.Sprintf(`{"metadata":{"name":"rs.%s"},"spec":{"group":%q,"scope":"Cluster","names":{"plural":"rs","singular":"r","kind":"R"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%s}%s}]}}`, group, group, test.schema, test.more)
		res, body := ask(t, client, "POST", r.URL+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", strings.NewReader(definition))
		if res.StatusCode != http.StatusCreated {
			if res.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%s: %s %.500s", test.schema, res.Status, body)
			}
			continue
		}
		objects := r.URL + "/apis/" + group + "/v1/rs"
		until(t, "it is served", func() bool {
			res, _ := ask(t, client, "GET", objects, nil)
			return res.StatusCode == http.StatusOK
		})
		for _, request := range []struct{ method, path, body string }{
			{"POST", "", `{"apiVersion":"` + group + `/v1","kind":"R","metadata":{"name":"x"},"spec":{"a":"5"}}`},
			{"PATCH", "/x", `{"spec":{"a":[{"b":8}]}}`},
			{"PATCH", "/x/status", `{"status":{"a":3}}`},
			{"PATCH", "/x", `{"status":null}`},
			{"GET", "/x/scale", ""},
			{"DELETE", "/x", ""},
		} {
			contentType := asJSON
			if request.method == "PATCH" {
				contentType = asMerge
			}
			res, body := ask(t, client, request.method, objects+request.path, strings.NewReader(request.body), "Content-Type: "+contentType)
			if res.StatusCode >= 500 {
				t.Errorf("%s %s: %s %.300s", test.schema, request.method+request.path, res.Status, body)
			}
		}
		r.undefine(t, "rs."+group)
	}
	res, body := ask(t, client, "GET", r.URL+"/livez", nil)
	if res.StatusCode != http.StatusOK {
		t.Errorf("%s %s", res.Status, body)
	}
}
