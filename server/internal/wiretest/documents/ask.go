package documents

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Ask is a request.
type Ask struct {
	Method string
	// Path may end in ?hash=HASH, which stands for the hash that the index of OpenAPI v3 names.
	Path   string
	Accept string `json:",omitempty"`
	// Again asks a second time, with the ETag of the first answer.
	Again bool `json:",omitempty"`
}

func (a Ask) String() string {
	text := a.Path
	if a.Method != http.MethodGet {
		text = a.Method + " " + text
	}
	if a.Accept != jsonType {
		text += " as " + a.Accept
	}
	if a.Again {
		text += " again"
	}
	return text
}

// Answer is what a server said to a request.
type Answer struct {
	Ask
	Code   int
	Header map[string]string
	// Tree is the content of the body, as encoding/json decodes it.
	Tree any

	body []byte
}

// Server is one that can be asked.
type Server struct {
	URL    string
	Client *http.Client
}

const (
	jsonType     = "application/json"
	yamlType     = "application/yaml"
	protobufType = "application/vnd.kubernetes.protobuf"
	openAPIv2    = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	openAPIv3    = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"

	hashMark = "?hash=HASH"
)

// aggregatedAs are the ways to ask for everything at once.
var aggregatedAs = []string{
	jsonType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
	jsonType + ";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
	jsonType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer",
	jsonType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," + jsonType +
		";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + jsonType,
	protobufType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
}

// Discovery lists what to ask for: every page of groups and versions as JSON, some of them in other encodings, and what
// is not there.
func Discovery(ctx context.Context, s Server) ([]Ask, error) {
	paths := []string{"/api", "/api/v1", "/apis"}
	var list struct {
		Groups []struct {
			Name     string
			Versions []struct{ GroupVersion string }
		}
	}
	if err := s.read(ctx, "/apis", &list); err != nil {
		return nil, err
	}
	for _, group := range list.Groups {
		paths = append(paths, "/apis/"+group.Name)
		for _, v := range group.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	asks := get(jsonType, paths...)
	for _, as := range aggregatedAs {
		asks = append(asks, get(as, "/api", "/apis", "/apis/apps", "/apis/apps/v1")...)
	}
	for _, path := range []string{"/api", "/apis"} {
		asks = append(asks, Ask{http.MethodGet, path, aggregatedAs[0], true})
	}
	for _, as := range []string{protobufType, yamlType, "text/plain", ""} {
		asks = append(asks, get(as, "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1")...)
	}
	asks = append(asks, get(jsonType, "/api/", "/api/v1/", "/apis/", "/apis/apps/", "/apis/apps/v1/",
		"/api/v9", "/apis/none.example.com", "/apis/none.example.com/v1", "/apis/apps/v9")...)
	return append(asks, Ask{http.MethodPost, "/apis", jsonType, false}, Ask{http.MethodPost, "/apis/apps/v1", jsonType, false}), nil
}

// OpenAPI lists what to ask for: the document of v2, the index of v3 and every document that it names, some as
// protobuf, and what is not there.
func OpenAPI(ctx context.Context, s Server) ([]Ask, error) {
	locations, err := s.locations(ctx)
	if err != nil {
		return nil, err
	}
	asks := get(jsonType, "/openapi/v2", "/openapi/v3")
	for path := range locations {
		asks = append(asks, Ask{http.MethodGet, path + hashMark, jsonType, false})
	}
	slices.SortFunc(asks[2:], func(a, b Ask) int { return strings.Compare(a.Path, b.Path) })
	asks = append(asks, get(openAPIv2, "/openapi/v2")...)
	asks = append(asks, get(openAPIv3, "/openapi/v3/apis/apps/v1"+hashMark)...)
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/batch/v1" + hashMark} {
		asks = append(asks, Ask{http.MethodGet, path, jsonType, true})
	}
	asks = append(asks, get("text/plain", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/batch/v1")...)
	return append(asks, get(jsonType, "/openapi/v3/apis/batch/v1", "/openapi/v3/apis/batch/v1?hash=other", "/openapi/v3/none",
		"/openapi")...), nil
}

func get(accept string, paths ...string) []Ask {
	asks := make([]Ask, 0, len(paths))
	for _, path := range paths {
		asks = append(asks, Ask{http.MethodGet, path, accept, false})
	}
	return asks
}

// locations has the paths of the documents of OpenAPI v3, each with its hash.
func (s Server) locations(ctx context.Context) (map[string]string, error) {
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := s.read(ctx, "/openapi/v3", &index); err != nil {
		return nil, err
	}
	locations := map[string]string{}
	for _, entry := range index.Paths {
		path, hash, ok := strings.Cut(entry.ServerRelativeURL, "?hash=")
		if !ok {
			return nil, fmt.Errorf("%s has no hash", entry.ServerRelativeURL)
		}
		locations[path] = hash
	}
	return locations, nil
}

func (s Server) read(ctx context.Context, path string, into any) error {
	answer, err := s.send(ctx, Ask{Method: http.MethodGet, Path: path, Accept: jsonType}, "")
	if err != nil {
		return err
	}
	if answer.Code != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, answer.Code, answer.body)
	}
	return json.Unmarshal(answer.body, into)
}

// Answers asks a server, and gives each answer to take.
func (s Server) Answers(ctx context.Context, asks []Ask, take func(Answer) error) error {
	var locations map[string]string
	for _, ask := range asks {
		sent, tag := ask, ""
		if path, ok := strings.CutSuffix(ask.Path, hashMark); ok {
			if locations == nil {
				var err error
				if locations, err = s.locations(ctx); err != nil {
					return err
				}
			}
			sent.Path = path + "?hash=" + locations[path]
		}
		answer, err := s.send(ctx, sent, "")
		if err == nil && ask.Again {
			tag = answer.Header["Etag"]
			answer, err = s.send(ctx, sent, tag)
		}
		if err != nil {
			return err
		}
		answer.Ask = ask
		answer.steady()
		if answer.Tree, err = answer.tree(); err != nil {
			return fmt.Errorf("%s: %w", ask, err)
		}
		if err := take(answer); err != nil {
			return err
		}
	}
	return nil
}

// compared are the headers that say something about a document.
var compared = []string{
	"Accept-Ranges", "Allow", "Cache-Control", "Content-Type", "Etag", "Expires", "Last-Modified", "Location", "Vary",
	"X-Content-Type-Options",
}

func (s Server) send(ctx context.Context, ask Ask, tag string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, ask.Method, s.URL+ask.Path, nil)
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Accept", ask.Accept)
	req.Header.Set("User-Agent", "documents") // whose answers are not indented
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	client := *s.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", ask, err)
	}
	answer := Answer{Ask: ask, Code: res.StatusCode, Header: map[string]string{}, body: body}
	for _, name := range compared {
		if values := res.Header.Values(name); len(values) > 0 {
			answer.Header[name] = strings.Join(values, ", ")
		}
	}
	return answer, nil
}

var (
	address = regexp.MustCompile(`("?serverAddress"?: ?"?)[^"\s]+:[0-9]+`)
	hashes  = regexp.MustCompile(`\?hash=[0-9A-F]+`)
	tags    = regexp.MustCompile(`^"[0-9A-F]{64,}"$`)
)

// steady replaces what differs between two runs of a server.
func (a *Answer) steady() {
	for _, name := range []string{"Expires", "Last-Modified"} {
		if a.Header[name] != "" {
			a.Header[name] = "a time"
		}
	}
	if tags.MatchString(a.Header["Etag"]) {
		a.Header["Etag"] = "a hash"
	}
	if at, ok := a.Header["Location"]; ok {
		a.Header["Location"] = hashes.ReplaceAllString(at, hashMark)
	}
	a.body = address.ReplaceAll(a.body, []byte("${1}HOST:1"))
	if strings.HasPrefix(a.Path, "/openapi/v3") && !strings.Contains(a.Path, "hash") {
		a.body = hashes.ReplaceAll(a.body, []byte(hashMark))
	}
}
