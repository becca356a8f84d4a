package schema

import "github.com/kx-apiserver/kx/core/request"

// samples are what people usually put into objects of a kind, for the kinds whose schema alone does not say what goes
// together, such as a selector and labels. NAME and NAMESPACE are the request's. metadata is the template's own, unless it
// is here.
var samples = map[request.Kind]string{
	{Version: "v1", Kind: "ConfigMap"}: `
data: {key: value}`,
	{Version: "v1", Kind: "Secret"}: `
type: Opaque
stringData: {key: value}`,
	{Version: "v1", Kind: "Pod"}: podSample,
	{Version: "v1", Kind: "PodTemplate"}: `
template:
  metadata: {labels: {app: NAME}}
  spec: {containers: [{name: main, image: nginx}]}`,
	{Version: "v1", Kind: "Service"}: `
spec:
  type: ClusterIP
  selector: {app: NAME}
  ports: [{name: http, port: 80, targetPort: 8080}]`,
	{Version: "v1", Kind: "Event"}: `
involvedObject: {apiVersion: v1, kind: ConfigMap, namespace: NAMESPACE, name: NAME}
type: Normal
reason: Tried
message: something happened
source: {component: kx}
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
count: 1`,
	{Version: "v1", Kind: "ServiceAccount"}: `
automountServiceAccountToken: true`,
	{Version: "v1", Kind: "Namespace"}: "",
	{Group: "apps", Version: "v1", Kind: "Deployment"}: `
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: nginx}]}`,
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}: `
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: nginx}]}`,
	{Group: "autoscaling", Version: "v1", Kind: "Scale"}: `
spec: {replicas: 2}`,
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: `
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              cronSpec: {type: string}
              image: {type: string}
              replicas: {type: integer}`,
	{Group: "kx.dev", Version: "v1alpha1", Kind: "Breakpoint"}: `
spec:
  filter: step:etcd.txn resource:configmaps
  action: Hold
  leaseSeconds: 60`,
	{Group: "kx.dev", Version: "v1alpha1", Kind: "Fault"}: `
spec:
  filter: verb:update resource:configmaps
  effect: Fail
  code: 409
  probability: 0.3
  seed: 7`,
	{Group: "kx.dev", Version: "v1alpha1", Kind: "StepRequest"}: `
spec: {action: next}`,
	{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}: `
spec: {expirationSeconds: 3600}`,
	{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenReview"}: `
spec: {token: the-token}`,
	{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectAccessReview"}: `
spec: {resourceAttributes: {verb: get, resource: configmaps, namespace: default}}`,
	{Group: "authorization.k8s.io", Version: "v1", Kind: "SubjectAccessReview"}: `
spec:
  user: alice
  resourceAttributes: {verb: get, resource: configmaps, namespace: default}`,
	{Group: "authorization.k8s.io", Version: "v1", Kind: "LocalSubjectAccessReview"}: `
spec:
  user: alice
  resourceAttributes: {verb: get, resource: configmaps, namespace: NAMESPACE}`,
	{Group: "authorization.k8s.io", Version: "v1", Kind: "SelfSubjectRulesReview"}: `
spec: {namespace: default}`,
}

const podSample = `
spec:
  containers: [{name: main, image: nginx}]
  restartPolicy: Always`

// nameless are kinds whose objects are answered and not kept: they have no name.
var nameless = map[string]bool{"authentication.k8s.io": true, "authorization.k8s.io": true}
