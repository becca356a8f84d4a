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

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// atFlag is --at: reads are made as of a revision. The API can do so for lists alone, so one object is asked for as a
// list of one.
type atFlag struct{ revision string }

func (w *wiring) addAt(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.at.revision, "at", "", "Read as it was at this resourceVersion (an object's, a list's, or a revision of etcd), while etcd still has it")
	cmd.Example += `

  # What the deployment was before its latest change, whose revision was 57
  kx get deployment web -o yaml --at 56`
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if subresource, _ := cmd.Flags().GetString("subresource"); w.at.revision != "" && subresource != "" {
			return errors.New("--at and --subresource exclude each other: the API reads lists of objects as of a revision, and nothing else")
		}
		return nil
	}
}

func (a *atFlag) check() error {
	if a.revision == "" {
		return nil
	}
	if n, err := strconv.ParseUint(a.revision, 10, 63); err != nil || n == 0 {
		return fmt.Errorf("--at: %q is no resourceVersion: give a number above 0, such as an object's metadata.resourceVersion "+
			"(etcd does not keep when a revision was made, so there is no reading as of a time)", a.revision)
	}
	return nil
}

var requestInfo = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// rewrite makes a read one of the revision. answer, if any, makes of the server's answer what the client expects.
func (a *atFlag) rewrite(req **http.Request) (answer func(*http.Response) (*http.Response, error)) {
	if a.revision == "" || (*req).Method != http.MethodGet {
		return nil
	}
	info, err := requestInfo.NewRequestInfo(*req)
	if err != nil || !info.IsResourceRequest || info.Verb != "get" && info.Verb != "list" {
		return nil
	}
	query := (*req).URL.Query()
	if query.Get("continue") != "" {
		return nil // the token says which revision it is of
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
	return answer
}

// single makes of the answer to a list the answer to a get.
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
		status := apierrors.NewNotFound(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name).Status()
		status.Kind, status.APIVersion = "Status", "v1"
		res.StatusCode, res.Status = http.StatusNotFound, "404 Not Found"
		if data, err = json.Marshal(status); err != nil {
			return nil, err
		}
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	res.ContentLength = int64(len(data))
	res.Header.Set("Content-Length", strconv.Itoa(len(data)))
	return res, nil
}
