/**
 * Builds deploy/kubernetes with kubectl, and checks the manifests with the schemas and types of Kubernetes and of the
 * Prometheus Operator.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PodMonitor, PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { Deployment } from 'kubernetes-models/apps/v1'
import { Job } from 'kubernetes-models/batch/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Secret, Service } from 'kubernetes-models/v1'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config/config.ts'
import { createDirectory } from '../support/directory.ts'

const folder = createDirectory()
cpSync(join(import.meta.dirname, '../../deploy/kubernetes'), folder, { recursive: true })
const writeSecret = (file: string, password: string) =>
  writeFileSync(join(folder, file), `DATABASE_URL=postgres://login:${password}@db:5432/gateway\n`)
writeSecret('gateway.env', 'first')
writeSecret('migrate/owner.env', 'first')

/** Builds the manifests of a folder. @returns the manifests that `kubectl apply -k` would send */
const buildManifests = (path = '.'): unknown[] =>
  parseAllDocuments(execFileSync('kubectl', ['kustomize', join(folder, path)], { encoding: 'utf8' })).map(each =>
    each.toJS(),
  )
const read = (file: string) => parse(readFileSync(join(folder, file), 'utf8'))

const models = { ConfigMap, Secret, Service, Deployment, Job, NetworkPolicy, PodDisruptionBudget }
const kindOf = (manifest: unknown) => (manifest as { kind: keyof typeof models }).kind
/** Returns the manifest of a kind, of which there must be exactly one. */
function findOnly<Kind extends keyof typeof models>(kind: Kind, manifests: readonly unknown[]) {
  const found = manifests.filter(manifest => kindOf(manifest) === kind)
  expect(found, kind).toHaveLength(1)
  return new models[kind](found[0] as never) as InstanceType<(typeof models)[Kind]>
}

const manifests = buildManifests()
const migrationManifests = buildManifests('migrate')
const deployment = findOnly('Deployment', manifests)
const job = findOnly('Job', migrationManifests)
const budget = findOnly('PodDisruptionBudget', manifests)
const service = findOnly('Service', manifests)
const configMap = findOnly('ConfigMap', manifests)
const policy = findOnly('NetworkPolicy', manifests)
const monitor = new PodMonitor(read('prometheus-operator/pod-monitor.yaml'))
const rule = new PrometheusRule(read('prometheus-operator/prometheus-rule.yaml'))
const pods = [deployment.spec?.template, job.spec?.template]
const image = { NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '8080' }
const config = readConfig({ ...image, ...configMap.data, DATABASE_URL: 'postgres://localhost/gateway' })

test('Kubernetes accepts each manifest', () => {
  const all = [...manifests, ...migrationManifests].map(manifest => new models[kindOf(manifest)](manifest as never))
  expect(all).toHaveLength(9)
  // Secrets are left out: kubectl breaks their values into lines, and the schema forbids line breaks.
  const [secrets, others] = [all.filter(({ kind }) => kind === 'Secret'), all.filter(({ kind }) => kind !== 'Secret')]
  expect(secrets).toHaveLength(2)
  for (const manifest of [...others, monitor, rule]) manifest.validate()
})

test('each key in the manifests exists in the types of Kubernetes', () => {
  // The compiler reports a key in an object literal that its type does not have.
  const place = createDirectory()
  symlinkSync(resolve('node_modules'), join(place, 'node_modules'))
  for (const [index, manifest] of [...manifests, ...migrationManifests, monitor, rule].entries()) {
    const { apiVersion, kind } = manifest as { apiVersion: string; kind: string }
    const of = apiVersion.startsWith('monitoring') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'
    const text = `import type { I${kind} } from '${of}/${apiVersion}'
      export const manifest: I${kind} = ${JSON.stringify(manifest)}\n`
    writeFileSync(join(place, `manifest${index}.ts`), text)
  }
  const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, module: 'nodenext', types: [] }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  const { stdout } = spawnSync(resolve('node_modules/.bin/tsc'), ['-p', place], { encoding: 'utf8' })
  expect(stdout).toBe('')
})

test('the pods run without root, on a read-only file system, and with memory limits', () => {
  for (const template of pods) {
    const pod = template?.spec
    const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
    expect(pod).toMatchObject({ automountServiceAccountToken: false, securityContext })
    const memory = expect.any(String)
    for (const { securityContext, resources } of pod?.containers ?? []) {
      const limited = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
      expect(securityContext).toEqual(limited)
      expect(resources).toMatchObject({ requests: { memory }, limits: { memory } })
    }
  }
})

test('the probes, the service and the disruption budget match the settings and the labels of the pods', () => {
  const [gateway] = deployment.spec?.template?.spec?.containers ?? []
  const portOf = (name: unknown) => gateway?.ports?.find(port => port.name === name)?.containerPort
  const probes = [gateway?.startupProbe, gateway?.livenessProbe, gateway?.readinessProbe]
  expect(probes.map(probe => probe?.httpGet?.path)).toEqual(['/livez', '/livez', '/readyz'])
  for (const probe of probes) expect(portOf(probe?.httpGet?.port)).toBe(config.healthPort)
  expect(service.spec?.ports?.map(({ targetPort }) => portOf(targetPort))).toEqual([config.port])
  expect(portOf('metrics')).toBe(config.metricsPort)
  const { labels } = deployment.spec!.template!.metadata!
  for (const selector of [
    deployment.spec?.selector.matchLabels,
    budget.spec?.selector?.matchLabels,
    service.spec?.selector,
    policy.spec?.podSelector.matchLabels,
    monitor.spec?.selector.matchLabels,
  ]) {
    expect(labels).toMatchObject(selector!)
    // No selector may match the pod of the migration, which serves no requests.
    expect(job.spec?.template?.metadata?.labels).not.toMatchObject(selector!)
  }
  // An upgrade stops no old pod until a new pod is ready.
  expect(deployment.spec?.strategy?.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 })
  // After the shutdown delay, running requests have ten seconds to finish.
  expect(deployment.spec?.template?.spec?.terminationGracePeriodSeconds).toBeGreaterThan(config.shutdownDelay + 10)
  // The secret with .env is mounted as the working directory of the service, so the program needs an absolute path.
  for (const template of pods) {
    const container = template?.spec?.containers[0]
    expect(container?.volumeMounts).toEqual([{ name: 'env', mountPath: container?.workingDir, readOnly: true }])
  }
  expect(readFileSync('Dockerfile', 'utf8')).toMatch(/^WORKDIR \/app\n[\s\S]*^ENTRYPOINT \["node", "\/app\//m)
})

test('a changed secret or setting starts new pods', () => {
  const templateNow = () => findOnly('Deployment', buildManifests()).spec?.template
  const before = templateNow()
  expect(templateNow()).toEqual(before)
  writeSecret('gateway.env', 'second')
  const rotated = templateNow()
  expect(rotated?.spec?.volumes).not.toEqual(before?.spec?.volumes)
  const file = join(folder, 'kustomization.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('SHUTDOWN_DELAY=10', 'SHUTDOWN_DELAY=11'))
  expect(templateNow()?.spec?.containers).not.toEqual(rotated?.spec?.containers)
})

test('the network policies allow incoming requests and scrapes, and outgoing connections that the configuration needs', () => {
  const portsOf = (rules: readonly { ports?: readonly { port?: number | string }[] }[] = []) =>
    rules.flatMap(({ ports = [] }) => ports.map(({ port }) => port))
  for (const each of [policy, findOnly('NetworkPolicy', migrationManifests)]) {
    expect(each.spec?.policyTypes).toEqual(['Ingress', 'Egress'])
    // A rule without an address would allow all addresses.
    for (const { from } of each.spec?.ingress ?? []) expect(from?.length).toBeGreaterThan(0)
    for (const { to } of each.spec?.egress ?? []) expect(to?.length).toBeGreaterThan(0)
  }
  // The port of the health checks stays closed, because their answers contain keys.
  expect(portsOf(policy.spec?.ingress)).toEqual(['http', 'metrics'])
  expect(portsOf(policy.spec?.egress)).toEqual([53, 53, 5432, 6432, 6379, 443])
  const migration = findOnly('NetworkPolicy', migrationManifests)
  expect(job.spec?.template.metadata?.labels).toMatchObject(migration.spec!.podSelector.matchLabels!)
  expect(migration.spec?.ingress).toBeUndefined()
  expect(portsOf(migration.spec?.egress)).toEqual([53, 53, 5432])
})

test('the Prometheus Operator scrapes the pods with the job name that the alerts use, and has the same alerts', () => {
  const labels: Record<string, string> = deployment.spec?.template?.metadata?.labels ?? {}
  expect(labels[`${monitor.spec?.jobLabel}`]).toBe('voucher-gateway')
  expect(monitor.spec?.podMetricsEndpoints?.map(({ port }) => port)).toEqual(['metrics'])
  expect(rule.spec).toEqual(parse(readFileSync('deploy/alerts.yaml', 'utf8')))
})
