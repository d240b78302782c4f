/** deploy/kubernetes, by the schemas and the types of Kubernetes. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Deployment } from 'kubernetes-models/apps/v1'
import { Job } from 'kubernetes-models/batch/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Service } from 'kubernetes-models/v1'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../src/config/config.ts'
import { createDirectory } from '../support/directory.ts'

const folder = 'deploy/kubernetes'
const files = readdirSync(folder)
const read = (file: string) => parse(readFileSync(join(folder, file), 'utf8'))

const deployment = new Deployment(read('deployment.yaml'))
const job = new Job(read('migrate.yaml'))
const budget = new PodDisruptionBudget(read('pod-disruption-budget.yaml'))
const service = new Service(read('service.yaml'))
const configMap = new ConfigMap(read('config-map.yaml'))
const pods = [deployment.spec?.template, job.spec?.template]

test('Kubernetes accepts each manifest', () => {
  const all = [configMap, deployment, job, budget, service]
  expect(all).toHaveLength(files.length)
  for (const manifest of all) manifest.validate()
  expect(() =>
    new Deployment({ ...deployment, spec: { ...deployment.spec!, replicas: Number.NaN } }).validate(),
  ).toThrow()
})

/** Compiles manifests as literals of their types. @returns the errors, which name each key that does not exist */
function compile(literals: Record<string, unknown>): string {
  const place = createDirectory()
  symlinkSync(resolve('node_modules'), join(place, 'node_modules'))
  mkdirSync(join(place, 'src'))
  for (const [name, manifest] of Object.entries(literals)) {
    const { apiVersion, kind } = manifest as { apiVersion: string; kind: string }
    const text = `import type { I${kind} } from 'kubernetes-models/${apiVersion}'
      export const manifest: I${kind} = ${JSON.stringify(manifest)}\n`
    writeFileSync(join(place, 'src', `${name}.ts`), text)
  }
  const options = { strict: true, noEmit: true, skipLibCheck: true, module: 'nodenext', types: [] }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['src'] }))
  try {
    execFileSync(resolve('node_modules/.bin/tsc'), ['-p', place], { encoding: 'utf8' })
    return ''
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)
  }
}

test('no manifest has a key that does not exist', () => {
  const manifests = Object.fromEntries(files.map(file => [file.replace('.yaml', ''), read(file)]))
  expect(compile(manifests)).toBe('')
  const { securityContext, ...container } = manifests.migrate.spec.template.spec.containers[0]
  manifests.migrate.spec.template.spec.containers = [{ ...container, securityContex: securityContext }]
  expect(compile(manifests)).toContain('securityContex')
})

test('the pods run without root, on a file system that they cannot change, within limits', () => {
  for (const template of pods) {
    const pod = template?.spec
    expect(pod).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } })
    for (const container of pod?.containers ?? []) {
      const limited = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
      expect(container.securityContext).toEqual(limited)
      expect(container.resources).toMatchObject({
        requests: { memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      })
    }
  }
})

test('the probes, the service and the budget meet the settings and the pods', () => {
  const config = readConfig({ NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '8080', ...configMap.data })
  const [gateway] = deployment.spec?.template?.spec?.containers ?? []
  const portOf = (name: unknown) => gateway?.ports?.find(port => port.name === name)?.containerPort
  const probes = [gateway?.startupProbe, gateway?.livenessProbe, gateway?.readinessProbe]
  expect(probes.map(probe => probe?.httpGet?.path)).toEqual(['/livez', '/livez', '/readyz'])
  for (const probe of probes) expect(portOf(probe?.httpGet?.port)).toBe(config.healthPort)
  expect(service.spec?.ports?.map(({ targetPort }) => portOf(targetPort))).toEqual([config.port])
  expect(portOf('metrics')).toBe(config.metricsPort)
  expect(deployment.spec?.template?.metadata?.annotations?.['prometheus.io/port']).toBe(String(config.metricsPort))
  const { labels } = deployment.spec!.template!.metadata!
  for (const selector of [
    deployment.spec?.selector.matchLabels,
    budget.spec?.selector?.matchLabels,
    service.spec?.selector,
  ]) {
    expect(labels).toMatchObject(selector!)
    // The pod of the migration serves nothing.
    expect(job.spec?.template?.metadata?.labels).not.toMatchObject(selector!)
  }
  // Requests under way have ten seconds after the delay.
  expect(deployment.spec?.template?.spec?.terminationGracePeriodSeconds).toBeGreaterThan(config.shutdownDelay + 10)
  // The service reads .env in its working directory.
  for (const template of pods) {
    expect(template?.spec?.containers[0]?.volumeMounts?.[0]).toMatchObject({ mountPath: '/app/.env', subPath: '.env' })
  }
  expect(readFileSync('Dockerfile', 'utf8')).toMatch(/^WORKDIR \/app$/m)
})
