//go:build unix

package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/peertest"
)

const kxRoot = "/apis/kx.dev/v1alpha1/"

// The markers: what each stands for, and whether it may be found.
const (
	secretMarker  = "hunter2aQ7zKfP4"  // in Secrets
	tokenMarker   = "tokenX9bW2vLr81c" // in headers, queries and reviews
	controlMarker = "plainN5sUe6jTd30" // in config maps, which nobody masks
)

// spellings are the ways in which a marker may stand somewhere: also within what is written in base64.
func spellings(marker string) []string {
	all := []string{marker, hex.EncodeToString([]byte(marker))}
	for offset := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + marker))
		all = append(all, text[4:len(text)-4]) // its ends depend on what is beside it
	}
	return all
}

func holds(text, marker string) bool {
	return slices.ContainsFunc(spellings(marker), func(s string) bool { return strings.Contains(text, s) })
}

// around is some text around a marker.
func around(text, marker string) string {
	for _, s := range spellings(marker) {
		if i := strings.Index(text, s); i >= 0 {
			return text[max(i-400, 0):min(i+len(s)+200, len(text))]
		}
	}
	return ""
}

// auditPolicy has a level for each namespace.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: Request, namespaces: [asked]}, {level: RequestResponse, namespaces: [answered]}, {level: Metadata}]`

// TestSecretsStaySecret sends markers through every verb, media type, error and export, and then looks for them in all
// that the server keeps and shows. The same requests for config maps are the control: their marker must be found by the
// same search.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	auditLog := filepath.Join(dir, "audit.log")
	collector := peertest.NewCollector(t)
	p := serve(t, "--ephemeral", "--allow-breakpoints", "--tracing-config-file="+collector.File(t, 1_000_000), "--audit-log-path="+auditLog, "--audit-policy-file="+file("policy.yaml", auditPolicy),
		"--token-auth-file="+file("tokens.csv", tokenMarker+"known,ann,1\n"))
	c := p.corpusClient(t)
	tap := p.tap(t)

	namespaces := []string{"default", "asked", "answered"}
	for _, ns := range namespaces {
		c.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"`+ns+`"}}`, http.Header{"Content-Type": {asJSON}})
		c.send(ns, "secrets", writesOf(t, "Secret", "ConfigMap", secretMarker))
		c.send(ns, "configmaps", writesOf(t, "ConfigMap", "Endpoints", controlMarker))
		c.send(ns, "configmaps", misplaced(secretMarker))
		c.send(ns, "secrets", tokensIn(tokenMarker))
	}
	c.sendTokens()
	made := c.makeToken()
	c.readBack("secrets")
	c.readBack("configmaps")
	c.do("GET", "/api/v1/namespaces/default/configmaps/"+controlMarker, "", nil)
	c.hold(p, "secrets", "Secret", secretMarker)
	c.hold(p, "configmaps", "ConfigMap", controlMarker)

	seen := p.look(t, c)
	seen["a tap"] = tap.stop()
	seen["the audit log at level Metadata"], seen["the audit log at level Request and above"] = auditEvents(t, auditLog, namespaces[1:])
	seen["a screen"] = p.screens(t)
	c.do("GET", "/last", "", nil)
	collector.Wait(t, "the last request", func(all []peertest.Span) bool {
		return slices.ContainsFunc(all, func(s peertest.Span) bool { return s.Attributes["url.path"] == "/last" })
	})
	seen["exported traces"] = collector.Text()
	lookForMarkers(t, seen)
	for place, text := range seen {
		for _, part := range made {
			if holds(text, part) {
				t.Errorf("a token that the server made is in %s: %s", place, around(text, part))
			}
		}
	}
}

// lookForMarkers looks for the markers. Where the control must be found, a search that finds nothing is broken.
func lookForMarkers(t *testing.T, seen map[string]string) {
	t.Helper()
	controls := []string{
		"journeys", "a capture", "a capture shown", "an export as md", "an export as html", "an export as svg", "a cached object", "keys", "a tap", "a screen",
		"exported traces",
		"the audit log at level Metadata", "the audit log at level Request and above",
	}
	for place, text := range seen {
		if len(text) == 0 {
			t.Errorf("%s: nothing was read", place)
		}
		if holds(text, tokenMarker) && place != "the audit log at level Request and above" {
			t.Errorf("a token is in %s: %s", place, around(text, tokenMarker))
		}
		if holds(text, secretMarker) != (place == "the audit log at level Request and above") {
			t.Errorf("a Secret is in %s (or is not, and should): %s", place, around(text, secretMarker))
		}
		if control := holds(text, controlMarker); !control && slices.Contains(controls, place) {
			t.Errorf("%s: the control is not found, so nothing would be", place)
		}
	}
}

func (p *process) corpusClient(t *testing.T) *client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.DisableCompression = true
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, p.url, h}
}

// misplaced are requests that bring a Secret where none belongs.
func misplaced(marker string) []sent {
	secret := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"m"},"stringData":{"k":"%s"}}`, marker)
	return []sent{
		{"POST", "%R", asJSON, secret},
		{"POST", "%R", asJSON, `{"apiVersion":"v1","kind":"List","items":[` + secret + `]}`},
		{"POST", "%R", asJSON, `{"apiVersion":"v1","kind":"SecretList","items":[` + secret + `]}`},
		{"POST", "%R", asJSON, `{"stringData":{"k":"` + marker + `"},"kind":""}`},
	}
}

// sendTokens sends tokens in headers, and asks for reviews of them.
func (c *client) sendTokens() {
	for _, h := range headersWith(tokenMarker) {
		c.do("GET", "/api/v1/namespaces/default/secrets", "", h)
	}
	const reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
	header := http.Header{"Content-Type": {asJSON}}
	spec := `"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"` + tokenMarker + `"}`
	c.do("POST", reviews, "{"+spec+"}", header)
	c.do("POST", reviews+"?fieldValidation=Strict", "{"+spec+`,"`+tokenMarker+`":1}`, header)
	c.do("POST", reviews, `{"spec":"`+tokenMarker+`"}`, header)
	c.do("POST", reviews, strings.Replace(strings.Replace("{"+spec+"}", tokenMarker, tokenMarker+"known", 1), "TokenReview", "TokenRequest", 1), header)
	c.do("POST", "/api/v1/namespaces/default/configmaps", "{"+spec+"}", header)
}

// makeToken has the server make a token of a service account, and returns what nobody else may have of it: its claims and its
// signature. Other requests are refused, and bring a token of their own.
func (c *client) makeToken() []string {
	const accounts = "/api/v1/namespaces/default/serviceaccounts"
	header := http.Header{"Content-Type": {asJSON}}
	c.do("POST", accounts, `{"metadata":{"name":"robot"}}`, header)
	at := accounts + "/robot/token"
	code, answer := c.do("POST", at, `{"status":{"token":"`+tokenMarker+`"}}`, header)
	var request authenticationv1.TokenRequest
	if err := json.Unmarshal(answer, &request); err != nil || code != http.StatusCreated {
		c.t.Fatalf("%d %s: %v", code, answer, err)
	}
	c.do("POST", at+"?fieldValidation=Strict", `{"status":{"token":"x","`+tokenMarker+`":1}}`, header)
	c.do("POST", at, `{"status":"`+tokenMarker+`"}`, header)
	parts := strings.Split(request.Status.Token, ".")
	if len(parts) != 3 {
		c.t.Fatalf("%q is not a token", request.Status.Token)
	}
	return parts[1:]
}

// readBack reads what is there in all forms, once as a watch.
func (c *client) readBack(resource string) {
	for _, accept := range []string{"", asYAML, asProtobuf, "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"} {
		for _, query := range []string{"", "?pretty=true", "?includeObject=Object", "?resourceVersion=0", "?limit=1", "/warned", "/warned?pretty=true"} {
			c.do("GET", "/api/v1/namespaces/default/"+resource+query, "", http.Header{"Accept": {accept}})
		}
	}
	c.do("GET", "/api/v1/namespaces/default/"+resource+"?watch=1&timeoutSeconds=1", "", nil)
}

// hold has a create held, and edits what is to be created.
func (c *client) hold(p *process, resource, kind, marker string) {
	header := http.Header{"Content-Type": {asJSON}}
	name := "hold-" + resource
	breakpoint := `{"metadata":{"name":"` + name + `"},"spec":{"filter":"step:store.before-create verb:create resource:` + resource + `"}}`
	if code, answer := c.do("POST", kxRoot+"breakpoints", breakpoint, header); code != 201 {
		c.t.Fatalf("%d %s", code, answer)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.do("POST", "/api/v1/namespaces/default/"+resource, fmt.Sprintf(`{"metadata":{"name":"held"},"data":{},"apiVersion":"v1","kind":"%s"}`, kind), header)
	}()
	var b v1alpha1.Breakpoint
	until(c.t, "the create is held", func() bool {
		_, answer := c.do("GET", kxRoot+"breakpoints/"+name, "", nil)
		return json.Unmarshal(answer, &b) == nil && b.Status.Held > 0
	})
	value := marker
	if kind == "Secret" {
		value = base64.StdEncoding.EncodeToString([]byte(marker))
	}
	for patch, want := range map[string]int{`{"data":{"k":"` + value + `"}}`: 201, `{"` + marker + `":1}`: 400, `{"data":"` + marker + `"}`: 400} {
		code, answer := c.do("POST", kxRoot+"journeys/"+b.Status.LastHit.Journey+"/step", `{"spec":{"action":"edit","patch":`+patch+`}}`, header)
		if code != want {
			c.t.Errorf("edited with %s: %d %s", patch, code, answer)
		}
	}
	c.do("POST", kxRoot+"journeys/"+b.Status.LastHit.Journey+"/step", `{"spec":{"action":"continue"}}`, header)
	c.do("DELETE", kxRoot+"breakpoints/"+name, "", nil)
	<-done
}

// auditEvents are the lines of the audit log, those of some namespaces apart.
func auditEvents(t *testing.T, file string, apart []string) (others, those string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var event struct {
			Level     string
			ObjectRef struct{ Namespace string }
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if slices.Contains(apart, event.ObjectRef.Namespace) && event.Level != "Metadata" {
			those += line
		} else {
			others += line
		}
	}
	return others, those
}
