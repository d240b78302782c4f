/** HAProxy and nginx before instances of the service, with the settings of deploy/ for instances that leave. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDirectory } from '../../support/directory.ts'
import { canConnect, freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'

/** An instance as a load balancer needs to know it. */
export interface Backend {
  port: number
  healthPort: number
}

const haproxy = (port: number, backends: readonly Backend[]) => `
global
  maxconn 2000
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 15s
  timeout http-keep-alive 60s
  timeout check 2s
  retries 3
  option redispatch
  retry-on conn-failure empty-response
frontend api
  bind 127.0.0.1:${port}
  default_backend gateway
backend gateway
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
${backends.map((each, at) => `  server s${at} 127.0.0.1:${each.port} check port ${each.healthPort} inter 500ms fall 2 rise 1`).join('\n')}
`

const nginx = (directory: string, port: number, backends: readonly Backend[]) => `
worker_processes 1;
daemon off;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log warn;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  upstream gateway {
${backends.map(({ port }) => `    server 127.0.0.1:${port} max_fails=1 fail_timeout=1s;`).join('\n')}
    keepalive 32;
    keepalive_timeout 60s;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gateway;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_connect_timeout 2s;
      proxy_next_upstream error timeout non_idempotent;
      proxy_next_upstream_tries 2;
    }
  }
}
`

export async function startLoadBalancer(kind: 'haproxy' | 'nginx', backends: readonly Backend[]) {
  const directory = createDirectory()
  const port = await freePort()
  const file = join(directory, 'config')
  writeFileSync(file, kind === 'haproxy' ? haproxy(port, backends) : nginx(directory, port, backends))
  const args = kind === 'haproxy' ? ['-f', file, '-db'] : ['-c', file, '-p', directory]
  const child = spawn(kind, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  await until('the load balancer listens', () => canConnect(port))
  return {
    origin: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
