// Package transform changes values on their way to and from etcd.
//
// It owns the bytes between the codec and the disk: identity, AES-GCM, AES-CBC, secretbox and (by package kms) KMS
// plugins. It rotates keys, and reads a Kubernetes EncryptionConfiguration file, which says which resource uses which
// of them.
//
// In comes an encoded object and a Context that says where it is stored; out go the bytes that etcd holds, and the way
// back. The bytes on disk are those that a kube-apiserver with the same file writes and reads:
//
//	k8s:enc:aesgcm:v1:<key name>:     12 bytes of nonce, ciphertext, 16 bytes of tag; the etcd key is authenticated
//	k8s:enc:aescbc:v1:<key name>:     16 bytes of IV, ciphertext with PKCS#7 padding; not authenticated
//	k8s:enc:secretbox:v1:<key name>:  24 bytes of nonce, 16 bytes of tag, ciphertext; etcd key not authenticated
//	k8s:enc:kms:v2:<provider name>:    see package kms; the etcd key is authenticated
//
// Invariants:
//
//  1. No input of any kind makes TransformFromStorage panic.
//  2. A Transformer never changes the slice it is given. The identity returns that same slice, so a caller must not
//     change the result in place either: etcd hands one slice to several watchers.
//  3. A value is stale when anything but the first key of the first provider could read it: a caller that holds a stale
//     value writes it again, also when the object has not changed.
//  4. No error carries a key, a plaintext or a ciphertext.
//
// What the transformers of a configuration do is counted, under the names of Kubernetes.
//
// Transformers are safe for concurrent use.
package transform
