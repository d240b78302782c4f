import { expect, test } from 'vitest'
import { run } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { database, build, client } = await startService()
const tenantId = await build.tenant()

const runTokenCommand = (...args: string[]) => run(['token', ...args], { DATABASE_URL: database.url })

const listByCommand = async () => JSON.parse((await runTokenCommand('list', '--json')).stdout)

async function createByCommand(...options: string[]): Promise<{ id: number; token: string }> {
  const made = await runTokenCommand('create', '--json', '--tenant', String(tenantId), ...options)
  expect(made.code, made.stderr).toBe(0)
  return JSON.parse(made.stdout)
}

const hoursUntil = (instant: string) => (Date.parse(instant) - Date.now()) / 3_600_000

test('a token is created with a contact, a rate and an end', async () => {
  const options = ['--contact', 'ops@partner.example', '--rate-limit', '55', '--expires-in', '12h']
  const made = await createByCommand('--name', 'Till', ...options)
  expect(made).toMatchObject({ name: 'Till', contact: 'ops@partner.example', rate_limit: 55 })
  const answer = await client.rest(made.token, '/tenants')
  expect([answer.status, answer.headers['ratelimit-limit']]).toEqual([200, '55'])
  const [listed] = await listByCommand()
  expect(listed).toMatchObject({ id: made.id, contact: 'ops@partner.example', rate_limit: 55, status: 'active' })
  expect(hoursUntil(listed.expires_at)).toBeCloseTo(12, 1)

  const entries = await database.platform`
    select action, actor, detail->>'contact' as contact from gateway.audit_entry where token_id = ${made.id}`
  expect(listed.created_by).toContain('command line')
  expect(entries).toEqual([{ action: 'token.create', actor: listed.created_by, contact: 'ops@partner.example' }])
})

test('a token is listed without its secret, and revoked', async () => {
  const other = await build.tenant()
  const permissions = ['--permission', 'view_vouchers', '--permission', 'view_orders']
  const made = await createByCommand(
    '--name',
    'Listed',
    '--tenant',
    String(other),
    '--with-descendants',
    ...permissions,
  )
  expect(made.token).toMatch(/^vgw_[0-9A-Za-z]{49}$/)
  const lost = await runTokenCommand('create', '--name', 'Lost', '--tenant', '999999')
  expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining('999999')])
  expect((await runTokenCommand('revoke', String(made.id))).code).toBe(0)
  const { stdout } = await runTokenCommand('list', '--json')
  expect(stdout).not.toContain(made.token)
  expect(JSON.parse(stdout)[0]).toMatchObject({
    ...{ name: 'Listed', status: 'revoked', permissions: ['view_vouchers', 'view_orders'] },
    tenants: [tenantId, other].map(id => ({ id, with_descendants: true })),
  })
})

test('a token is rotated, with an overlap or without', async () => {
  const old = await createByCommand('--name', 'Turning', '--rate-limit', '44')
  const rotated = await runTokenCommand('rotate', String(old.id), '--expires-in', '30d')
  expect(rotated.code, rotated.stderr).toBe(0)
  const secret = /vgw_\w+/.exec(rotated.stdout)?.[0] ?? ''
  for (const each of [old.token, secret]) expect((await client.rest(each, '/tenants')).status).toBe(200)
  const [after, before] = await listByCommand()
  expect(after).toMatchObject({ name: 'Turning', rate_limit: 44, rotated_from: old.id, tenants: before.tenants })
  expect(hoursUntil(before.expires_at)).toBeCloseTo(24, 1)
  expect(hoursUntil(after.expires_at)).toBeCloseTo(720, 0)

  const next = await runTokenCommand('rotate', String(after.id), '--overlap', '0s', '--json')
  expect(JSON.parse(next.stdout)).toMatchObject({ rotated_from: after.id, token: expect.stringMatching(/^vgw_/) })
  expect((await client.rest(secret, '/tenants')).status).toBe(401)
})

test('an edit changes only the settings that its options name', async () => {
  const made = await createByCommand('--name', 'Before', '--with-descendants', '--permission', 'view_vouchers')
  const shown = await runTokenCommand('show', String(made.id))
  expect(shown.stdout).toMatch(/^name +Before$/m)
  expect(shown.stdout).toMatch(new RegExp(`^tenants +.* \\(${tenantId}, with all below\\)$`, 'm'))
  expect(shown.stdout).not.toContain(made.token)

  const edited = await runTokenCommand('edit', String(made.id), '--name', 'After', '--rate-limit', '77', '--json')
  expect(edited.code, edited.stderr).toBe(0)
  expect(JSON.parse(edited.stdout)).toMatchObject({
    ...{ name: 'After', rate_limit: 77, permissions: ['view_vouchers'] },
    tenants: [{ id: tenantId, with_descendants: true }],
  })

  const other = await build.tenant()
  const tenants = [tenantId, other].flatMap(id => ['--tenant', String(id)])
  const options = [...tenants, '--permission', 'redeem_vouchers', '--rate-limit', 'default']
  expect((await runTokenCommand('edit', String(made.id), ...options)).code).toBe(0)
  expect(JSON.parse((await runTokenCommand('show', String(made.id), '--json')).stdout)).toMatchObject({
    rate_limit: null,
    permissions: ['redeem_vouchers'],
    tenants: [tenantId, other].map(id => ({ id, with_descendants: false })),
  })
  for (const command of ['show', 'revoke', 'rotate']) expect((await runTokenCommand(command, '999999')).code).toBe(1)
})

test('a token for a new tenant is created even when the first step exceeds its time limit', async () => {
  const { platform } = database
  await platform
    .unsafe(`
      create sequence public.slow_steps;
      create function public.delay() returns trigger language plpgsql as $$ begin
        if current_setting('statement_timeout') = '1s' and nextval('public.slow_steps') = 1 then perform pg_sleep(2); end if;
        return new; end $$;
      grant usage on sequence public.slow_steps to public;
      create trigger delay before insert on gateway.step for each row execute function public.delay()`)
    .simple()
  const made = await runTokenCommand('create', '--name', 'New', '--tenant', String(await build.tenant()))
  expect(made.code, made.stderr).toBe(0)
  expect(await platform`select last_value > 1 as is_repeated from public.slow_steps`).toEqual([{ is_repeated: true }])
})
