// Enforces the NetworkPolicies of a cluster on one node: kube-router's policy controller alone. Routes, addresses and services stay those of the
// network plug-in and of kube-proxy. What it does not say itself, pkg/cmd of kube-router v2.1.0 does in the same way.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	cacheWithin = time.Minute
	askWithin   = 5 * time.Second
	namespace   = "kube-system"
	name        = "network-policies"
	beats       = 10
)

func main() {
	services := flag.String("services", "", "addresses of services, as the API server has them (10.63.0.0/16)")
	node := flag.String("node", os.Getenv("NODE_NAME"), "name of this node")
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file; without one, the pod's own account")
	health := flag.Uint("health-port", 20244, "port on which /healthz answers")
	flag.Parse()
	if err := run(*services, *node, *kubeconfig, uint16(*health)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(services, node, kubeconfig string, health uint16) error {
	if services == "" || node == "" {
		return errors.New("both -services and -node are needed")
	}
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		return err
	}
	config := options.NewKubeRouterConfig()
	config.ClusterIPCIDRs = []string{services}
	config.HostnameOverride = node
	config.EnableIPv4, config.RunFirewall = true, true

	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGINT, syscall.SIGTERM)
	stop, failed := make(chan struct{}), make(chan error, 1)
	var running sync.WaitGroup

	checks, err := healthcheck.NewHealthController(config)
	if err != nil {
		return err
	}
	// kube-router's own server answers on every address of the node; nobody but the kubelet asks.
	answers := http.NewServeMux()
	answers.HandleFunc("/healthz", checks.Handler)
	server := &http.Server{Addr: fmt.Sprintf("127.0.0.1:%d", health), Handler: answers, ReadHeaderTimeout: askWithin}
	go func() { failed <- server.ListenAndServe() }()

	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(stop)
	late, cancel := context.WithTimeout(context.Background(), cacheWithin)
	defer cancel()
	for kind, is := range factory.WaitForCacheSync(late.Done()) {
		if !is {
			return fmt.Errorf("the API server did not list all of %v within %v", kind, cacheWithin)
		}
	}

	rules, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return err
	}
	controller, err := netpol.NewNetworkPolicyController(client, config, pods, policies, namespaces, &sync.Mutex{}, rules, sets)
	if err != nil {
		return err
	}
	for _, add := range []func() error{
		func() error { _, err := pods.AddEventHandler(controller.PodEventHandler); return err },
		func() error { _, err := namespaces.AddEventHandler(controller.NamespaceEventHandler); return err },
		func() error { _, err := policies.AddEventHandler(controller.NetworkPolicyEventHandler); return err },
	} {
		if err := add(); err != nil {
			return err
		}
	}
	heart := make(chan *healthcheck.ControllerHeartbeat, beats)
	checks.SetAlive()
	running.Add(2)
	go checks.RunCheck(heart, stop, &running)
	go controller.Run(heart, stop, &running)

	select {
	case err := <-failed:
		return err
	case <-ending:
	}
	close(stop)
	running.Wait()
	if removed(client) {
		controller.Cleanup()
	}
	return nil
}

// removed says whether this ends for good. Only then do the rules go: while the program starts again or is upgraded, they stay in force.
func removed(client kubernetes.Interface) bool {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	found, err := client.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return found.DeletionTimestamp != nil
}
