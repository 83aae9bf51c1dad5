// Command simulated-gpus is a device plugin of the kubelet for GPUs that a rehearsal simulates: device files without a device behind them.
//
// A device is healthy while its file is there. What it offers is never a real GPU, and its name, log and identifiers say so.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	socketName = "clusterwright-simulated-gpus.sock"
	lookEvery  = time.Second
	idPrefix   = "simulated-gpu-"
)

var deviceName = regexp.MustCompile(`^nvidia([0-9]+)$`)

type plugin struct {
	api.UnimplementedDevicePluginServer
	folder string          // where the host's /dev is seen
	known  map[string]bool // numbers of all devices seen since the start
}

func main() {
	folder := flag.String("devices", "/host-dev", "where the host's /dev is mounted")
	resource := flag.String("resource", "nvidia.com/gpu", "name of the resource that pods ask for")
	sockets := flag.String("sockets", api.DevicePluginPath, "the kubelet's folder for device plugins")
	flag.Parse()
	log.SetFlags(log.LstdFlags | log.Lmsgprefix)
	log.SetPrefix("simulated GPUs: ")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p := &plugin{folder: *folder, known: map[string]bool{}}
	log.Printf("offering %d simulated devices of this host as %s; no GPU is behind them", len(p.devices()), *resource)
	for ctx.Err() == nil {
		if err := p.serve(ctx, *sockets, *resource); err != nil {
			log.Printf("%v; trying again", err)
		}
		wait(ctx, lookEvery)
	}
}

// serve registers with the kubelet and answers it until the kubelet starts anew, which removes the plugin's socket.
func (p *plugin) serve(ctx context.Context, sockets, resource string) error {
	socket := filepath.Join(sockets, socketName)
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	if err := register(ctx, filepath.Join(sockets, "kubelet.sock"), resource); err != nil {
		return fmt.Errorf("the kubelet does not take the registration: %w", err)
	}
	log.Printf("registered with the kubelet")
	for ctx.Err() == nil {
		if _, err := os.Stat(socket); err != nil {
			return fmt.Errorf("the kubelet started anew")
		}
		wait(ctx, lookEvery)
	}
	return nil
}

func register(ctx context.Context, kubelet, resource string) error {
	connection, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx, &api.RegisterRequest{Version: api.Version, Endpoint: socketName, ResourceName: resource})
	return err
}

// devices gives all devices seen so far, those whose file is gone as unhealthy.
func (p *plugin) devices() []*api.Device {
	present := map[string]bool{}
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		log.Printf("the host's devices cannot be listed: %v", err)
	}
	for _, entry := range entries {
		if match := deviceName.FindStringSubmatch(entry.Name()); match != nil && entry.Type()&os.ModeCharDevice != 0 {
			present[match[1]], p.known[match[1]] = true, true
		}
	}
	found := []*api.Device{}
	for number := range p.known {
		health := api.Unhealthy
		if present[number] {
			health = api.Healthy
		}
		found = append(found, &api.Device{ID: idPrefix + number, Health: health})
	}
	sort.Slice(found, func(i, j int) bool { return found[i].ID < found[j].ID })
	return found
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch tells the kubelet of the devices now and whenever one of them appears or goes.
func (p *plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	p = &plugin{folder: p.folder, known: map[string]bool{}} // a kubelet that was restarted may call while the old stream still ends
	told := "nothing yet"
	for stream.Context().Err() == nil {
		devices := p.devices()
		if now := summary(devices); now != told {
			if err := stream.Send(&api.ListAndWatchResponse{Devices: devices}); err != nil {
				return err
			}
			log.Printf("told the kubelet of %d devices, %d of them healthy", len(devices), healthy(devices))
			told = now
		}
		wait(stream.Context(), lookEvery)
	}
	return nil
}

// Allocate gives a container the device files that the kubelet chose, and their numbers.
func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		answer := &api.ContainerAllocateResponse{}
		numbers := []string{}
		for _, id := range container.DevicesIds {
			number := strings.TrimPrefix(id, idPrefix)
			path := "/dev/nvidia" + number
			answer.Devices = append(answer.Devices, &api.DeviceSpec{ContainerPath: path, HostPath: path, Permissions: "rw"})
			numbers = append(numbers, number)
		}
		sort.Strings(numbers)
		answer.Envs = map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(numbers, ","), "CLUSTERWRIGHT_SIMULATED_GPUS": strings.Join(numbers, ",")}
		response.ContainerResponses = append(response.ContainerResponses, answer)
	}
	return response, nil
}

func summary(devices []*api.Device) string {
	words := []string{}
	for _, device := range devices {
		words = append(words, device.ID+"="+device.Health)
	}
	return strings.Join(words, " ")
}

func healthy(devices []*api.Device) int {
	count := 0
	for _, device := range devices {
		if device.Health == api.Healthy {
			count++
		}
	}
	return count
}

func wait(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}
