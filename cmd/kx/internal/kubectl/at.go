package kubectl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// atFlag is --at, with which reads return the state at a revision. The API supports that only for lists, so a get
// becomes a list of one object. The server translates a time to a revision, since etcd keeps no times.
type atFlag struct {
	revision string
	moment   string // the time to ask the server about; empty if revision is a number

	ask sync.Once
	err error
}

func (w *wiring) addAt(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.at.revision, "at", "",
		"Read as it was at this resourceVersion (an object's, a list's, or a revision of etcd), at this time, "+
			"or so long ago (-5m), while etcd still has it")
	cmd.Example += `

  # What the deployment was before its latest change, whose revision was 57
  kx get deployment web -o yaml --at 56

  # What pods there were five minutes ago
  kx get pods --at -5m`
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if subresource, _ := cmd.Flags().GetString("subresource"); w.at.revision != "" && subresource != "" {
			return errors.New(
				"--at and --subresource exclude each other: the API reads lists of objects as of a revision, and nothing else")
		}
		return nil
	}
}

func (a *atFlag) check() error {
	if a.revision == "" {
		return nil
	}
	if n, err := strconv.ParseUint(a.revision, 10, 63); err == nil && n > 0 {
		return nil
	}
	ago, err := time.ParseDuration(a.revision)
	if _, timeErr := time.Parse(time.RFC3339Nano, a.revision); timeErr == nil || err == nil && strings.HasPrefix(a.revision, "-") {
		a.moment = strings.TrimPrefix(a.revision, "-")
		return nil
	} else if err == nil && ago > 0 {
		return fmt.Errorf("--at: %q is not in the past: -%s is", a.revision, a.revision)
	}
	return fmt.Errorf("--at: %q is neither a resourceVersion, such as an object's metadata.resourceVersion, nor a time such as "+
		"2026-01-02T15:04:05Z, nor how long ago such as -5m", a.revision)
}

// find asks the server once for the revision at the time.
func (a *atFlag) find(req *http.Request, prefix string, next http.RoundTripper, say func(string)) error {
	if a.moment == "" {
		return nil
	}
	a.ask.Do(func() { a.err = a.askServer(req, prefix, next, say) })
	return a.err
}

func (a *atFlag) askServer(req *http.Request, prefix string, next http.RoundTripper, say func(string)) error {
	ask := req.Clone(req.Context())
	ask.URL.Path, ask.URL.RawPath, ask.URL.RawQuery = prefix+"/apis/"+v1alpha1.SchemeGroupVersion.String()+"/moments/"+a.moment, "", ""
	ask.Header.Set("Accept", "application/json")
	res, err := next.RoundTrip(ask)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, answerMost))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		status := &apierrors.StatusError{}
		if json.Unmarshal(data, &status.ErrStatus) != nil || status.ErrStatus.Message == "" || res.StatusCode == http.StatusNotFound {
			status = apierrors.NewBadRequest(
				"the server does not remember when etcd had which revision, as kx does: give a resourceVersion")
		}
		status.ErrStatus.Message = "--at " + a.revision + ": " + status.ErrStatus.Message
		return status
	}
	var moment v1alpha1.Moment
	err = json.Unmarshal(data, &moment)
	if err == nil && moment.Status.Revision == 0 {
		err = errors.New("it has no revision")
	}
	if err != nil {
		return fmt.Errorf("--at %s: the server's answer is no moment: %w", a.revision, err)
	}
	a.revision = strconv.FormatInt(moment.Status.Revision, 10)
	say(fmt.Sprintf("as of revision %s, which the server saw at %s", a.revision, moment.Status.Time.UTC().Format(time.RFC3339)))
	return nil
}

// refusal turns err into an answer to req if it is an API status.
func refusal(req *http.Request, err error) (*http.Response, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil, err
	}
	res := &http.Response{Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}}
	return res, writeStatus(res, status.Status())
}

// writeStatus replaces a response's body by a status.
func writeStatus(res *http.Response, status metav1.Status) error {
	status.Kind, status.APIVersion = "Status", "v1"
	data, err := json.Marshal(status)
	if err != nil {
		return err
	}
	res.StatusCode, res.Status = int(status.Code), fmt.Sprintf("%d %s", status.Code, http.StatusText(int(status.Code)))
	writeBody(res, data)
	return nil
}

func writeBody(res *http.Response, data []byte) {
	res.Body = io.NopCloser(bytes.NewReader(data))
	res.ContentLength = int64(len(data))
	res.Header.Set("Content-Length", strconv.Itoa(len(data)))
}

// answerMost limits the bytes of an answer about a time.
const answerMost = 1 << 20

var requestInfo = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// infoOf returns what a request is about. prefix is the path of the server's address, as behind a proxy.
func infoOf(req *http.Request, prefix string) (*request.RequestInfo, error) {
	at := *req.URL
	at.Path = strings.TrimPrefix(at.Path, prefix)
	req = req.WithContext(req.Context())
	req.URL = &at
	return requestInfo.NewRequestInfo(req)
}

// rewrite turns a read into a read at the revision. answer, if not nil, converts the server's answer to what the client
// expects.
func (a *atFlag) rewrite(req **http.Request, prefix string, next http.RoundTripper,
	say func(string)) (answer func(*http.Response) (*http.Response, error), err error) {
	if a.revision == "" || (*req).Method != http.MethodGet {
		return nil, nil
	}
	info, err := infoOf(*req, prefix)
	if err != nil || !info.IsResourceRequest || info.Verb != "get" && info.Verb != "list" {
		return nil, nil
	}
	query := (*req).URL.Query()
	if query.Get("continue") != "" {
		return nil, nil // the token contains the revision
	}
	if err := a.find(*req, prefix, next, say); err != nil {
		return nil, err
	}
	*req = (*req).Clone((*req).Context())
	query.Set("resourceVersion", a.revision)
	query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	if info.Verb == "get" {
		query.Set("fieldSelector", fields.OneTermEqualSelector("metadata.name", info.Name).String())
		(*req).URL.Path = path.Dir((*req).URL.Path)
		(*req).URL.RawPath = ""
		answer = func(res *http.Response) (*http.Response, error) { return single(res, info) }
	}
	(*req).URL.RawQuery = query.Encode()
	return answer, nil
}

// single converts the answer to a list into the answer to a get.
func single(res *http.Response, info *request.RequestInfo) (*http.Response, error) {
	if res.StatusCode != http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	var list struct {
		metav1.TypeMeta
		Items []map[string]json.RawMessage `json:"items"`
		Rows  []json.RawMessage            `json:"rows"`
	}
	data, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("--at: read the list of %s: %w", info.Resource, err)
	}
	switch {
	case list.Kind == "Table" && len(list.Rows) > 0:
	case len(list.Items) > 0:
		item := list.Items[0]
		item["kind"], _ = json.Marshal(strings.TrimSuffix(list.Kind, "List"))
		item["apiVersion"], _ = json.Marshal(list.APIVersion)
		if data, err = json.Marshal(item); err != nil {
			return nil, err
		}
	default:
		notFound := apierrors.NewNotFound(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name)
		return res, writeStatus(res, notFound.Status())
	}
	writeBody(res, data)
	return res, nil
}
