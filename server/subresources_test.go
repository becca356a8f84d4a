package server_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// TestSubresourcesAsUpstream asks the subresources that evict, resize and reach nodes, none of which answers. What must come is
// in testdata/subresources.txt: a kube-apiserver's answers. KX_UPSTREAM, its URL, and KX_UPSTREAM_TOKEN record them anew from a server
// that was never asked before: it keeps the namespace.
func TestSubresourcesAsUpstream(t *testing.T) {
	file := filepath.Join("testdata", "subresources.txt")
	if url := os.Getenv("KX_UPSTREAM"); url != "" {
		transport := http1(&tls.Config{InsecureSkipVerify: true})
		defer transport.CloseIdleConnections()
		must(t, os.WriteFile(file, []byte(told(t, url, &http.Client{Transport: transport}, os.Getenv("KX_UPSTREAM_TOKEN"))), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	must(t, err)
	r := start(t)
	tlsConfig, err := rest.TLSConfigFor(r.config)
	must(t, err)
	transport := http1(tlsConfig)
	defer transport.CloseIdleConnections()
	got := told(t, r.URL, &http.Client{Transport: transport}, "")
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("a kube-apiserver says something else (-):\n%s", diff)
	}
}

// http1 is a transport without HTTP/2, which has no upgrades.
func http1(config *tls.Config) *http.Transport {
	config = config.Clone()
	config.NextProtos = nil
	return &http.Transport{TLSClientConfig: config, DisableCompression: true}
}

// told sends the requests of testdata/subresources.requests and writes down the answers. A request is a line with method, path
// and headers, and lines of a body until an empty one. The answers of those that begin with a + are not of interest.
func told(t *testing.T, url string, client *http.Client, token string) string {
	t.Helper()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	script, err := os.ReadFile(filepath.Join("testdata", "subresources.requests"))
	must(t, err)
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(script)), "\n\n") {
		line, body, _ := strings.Cut(block, "\n")
		if strings.HasPrefix(line, "#") {
			fmt.Fprintf(&out, "%s\n\n", block)
			continue
		}
		line, quiet := strings.CutPrefix(line, "+")
		words := strings.Split(line, " ")
		req, err := http.NewRequestWithContext(t.Context(), words[0], url+words[1], strings.NewReader(body))
		must(t, err)
		if body == "" {
			req.Body = http.NoBody
		}
		req.Header.Set("Content-Type", "application/json")
		if words[0] == "PATCH" {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
		for _, header := range words[2:] {
			name, value, _ := strings.Cut(header, "=")
			req.Header.Set(name, value)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := client.Do(req)
		must(t, err)
		answer := answerOf(t, res)
		if quiet {
			if res.StatusCode >= 300 {
				t.Fatalf("%s: %s", line, answer)
			}
			continue
		}
		fmt.Fprintf(&out, "%s\n%s\n\n", line, answer)
	}
	return out.String()
}

// answerOf is what of an answer must be the same on all servers.
func answerOf(t *testing.T, res *http.Response) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "%d\n", res.StatusCode)
	for _, name := range []string{"Content-Type", "Retry-After", "Location", "Warning", "Sec-Websocket-Protocol"} {
		if values := res.Header.Values(name); len(values) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(values, " | "))
		}
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		defer res.Body.Close()
		done := time.AfterFunc(5*time.Second, func() { res.Body.Close() })
		defer done.Stop()
		data, _ := io.ReadAll(res.Body)
		return strings.TrimSpace(scrubbed(out.String() + fmt.Sprintf("%q", data)))
	}
	data, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	return strings.TrimSpace(scrubbed(out.String() + interesting(data)))
}

// interesting are a Status, and the parts of an object that the requests are about.
func interesting(data []byte) string {
	var object map[string]any
	if json.Unmarshal(data, &object) != nil {
		return string(data)
	}
	show := object
	switch object["kind"] {
	case "Pod":
		spec, status := object["spec"].(map[string]any), object["status"].(map[string]any)
		resources := []any{spec["resources"]}
		for _, list := range []string{"initContainers", "containers"} {
			containers, _ := spec[list].([]any)
			for _, c := range containers {
				resources = append(resources, c.(map[string]any)["resources"])
			}
		}
		metadata := object["metadata"].(map[string]any)
		show = map[string]any{"generation": metadata["generation"], "deleted": metadata["deletionTimestamp"] != nil, "resources": resources,
			"conditions": status["conditions"], "qosClass": status["qosClass"], "fields": ownersOf(metadata)}
	case "PodDisruptionBudget":
		show = map[string]any{"status": object["status"]}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	_ = encoder.Encode(show)
	return out.String()
}

// ownersOf are the owners that resize makes.
func ownersOf(metadata map[string]any) (owners []any) {
	list, _ := metadata["managedFields"].([]any)
	for _, m := range list {
		if m := m.(map[string]any); m["subresource"] == "resize" {
			fields := m["fieldsV1"].(map[string]any)
			if spec, ok := fields["f:spec"].(map[string]any); ok {
				delete(spec, "f:resources") // a kube-apiserver gives nobody the defaults that it sets after a resize
			}
			owners = append(owners, fields)
		}
	}
	return owners
}

var scrubs = []struct {
	*regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`ResourceVersion in record \(\d+\)`), "ResourceVersion in record (N)"},
	{regexp.MustCompile(`https://127\.0\.0\.1:\d{4,5}/api`), "https://SERVER/api"},
}

func scrubbed(text string) string {
	for _, s := range scrubs {
		text = s.ReplaceAllString(text, s.with)
	}
	return text
}
