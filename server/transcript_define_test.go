package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/cockroachdb/datadriven"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kx-apiserver/kx/server/peertest"
)

// define makes a definition, and returns when it is served.
func (p *performer) define(input string) (string, error) {
	if strings.Contains(input, "{webhook}") {
		webhook := peertest.NewWebhook(p.t, func(obj *unstructured.Unstructured, to string) error {
			labels := obj.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels["converted"] = to[strings.LastIndexByte(to, '/')+1:]
			obj.SetLabels(labels)
			return nil
		})
		config, err := json.Marshal(webhook.ClientConfig())
		if err != nil {
			return "", err
		}
		input = strings.ReplaceAll(input, "{webhook}", string(config))
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal([]byte(input), &crd); err != nil {
		return "", err
	}
	a, err := p.send("POST "+definitionsPath+"\n\n"+input, &datadriven.TestData{})
	if err != nil || a.code != http.StatusCreated {
		return "", fmt.Errorf("define %s: %d %w", crd.Name, a.code, err)
	}
	until(p.t, crd.Name+" is established", func() bool {
		got, err := p.server.definitions(p.t).Get(p.t.Context(), crd.Name, metav1.GetOptions{})
		return err == nil && isTrue(got, apiextensionsv1.Established)
	})
	// Who asks for a version that is not there has the server look again: from now on it knows what we know.
	body, err := p.admin.Get(p.server.URL + "/apis/" + crd.Spec.Group + "/none/" + crd.Spec.Names.Plural)
	if err != nil {
		return "", err
	}
	return "established", body.Body.Close()
}
