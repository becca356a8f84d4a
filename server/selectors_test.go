package server_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSelectorsOfManyTerms lists, watches and deletes by selectors up to and above the limits. Those within them select what they say.
func TestSelectorsOfManyTerms(t *testing.T) {
	t.Parallel()
	r := shared(t)
	ns := r.namespace(t, "terms")
	c := r.admin(t).CoreV1().ConfigMaps(ns)
	for _, name := range []string{"a", "b"} {
		meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}
		_, err := c.Create(within(t), &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
		must(t, err)
	}
	path := r.URL + "/api/v1/namespaces/" + ns + "/configmaps"
	terms := func(n int, form string) string { return each(n, func(i int) string { return fmt.Sprintf(form, i) }) }
	of := func(name, text string) string { return "?" + name + "=" + url.QueryEscape(text) }
	for _, tt := range []struct {
		what, method, query string
		code                int
		says                string
	}{
		{"values", "GET", of("labelSelector", "app in (a,"+terms(9000, "v%d")+")"), 200, "a"},
		{"exclusions", "GET", of("labelSelector", "app!=b,"+terms(9000, "app!=v%d")), 200, "a"},
		{"labels", "GET", of("labelSelector", "app=a,"+terms(900, "!k%d")), 200, "a"},
		{"fields", "GET", of("fieldSelector", "metadata.name!=b,metadata.name!=kube-root-ca.crt,"+terms(9000, "metadata.name!=v%d")), 200, "a"},
		{"too many values", "GET", of("labelSelector", "app in ("+terms(10_001, "v%d")+")"), 400, "the labelSelector has 10001 terms and values, the limit is 10000"},
		{"too many exclusions", "GET", of("labelSelector", terms(60_000, "k!=v%d")), 400, "the labelSelector has 60000 terms and values, the limit is 10000"},
		{"too many labels", "GET", of("labelSelector", terms(1_001, "k%d!=a")), 400, "the labelSelector names 1001 labels, the limit is 1000"},
		{"too many fields", "GET", of("fieldSelector", terms(30_000, "metadata.name!=v%d")), 400, "the fieldSelector has 30000 terms and values, the limit is 10000"},
		{"a watch", "GET", of("labelSelector", terms(60_000, "k!=v%d")) + "&watch=1", 400, "the limit is 10000"},
		{"a deletion", "DELETE", of("labelSelector", terms(60_000, "k!=v%d")), 400, "the limit is 10000"},
	} {
		res, data := ask(t, r.httpClient(t), tt.method, path+tt.query, nil)
		if res.StatusCode != tt.code {
			t.Errorf("%s: %s %.300s", tt.what, res.Status, data)
			continue
		}
		if tt.code != 200 {
			if !strings.Contains(string(data), tt.says) {
				t.Errorf("%s: %.300s, want %s", tt.what, data, tt.says)
			}
			continue
		}
		var list corev1.ConfigMapList
		must(t, json.Unmarshal(data, &list))
		if len(list.Items) != 1 || list.Items[0].Name != tt.says {
			t.Errorf("%s: selected %v", tt.what, list.Items)
		}
	}
}
