/**
 * Tests the responses that only a browser on this machine gets: API access without PUBLIC_URL, and the token of the
 * demo.
 */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
const token = 'vgw_demo'
const { app: demo } = await createApp({ ...database, demoToken: token })

/** Requests the page API access and the demo token. @returns whether API access opens, and the token */
async function openTo(remoteAddress: string, headers: Record<string, string>) {
  const [admin, demoToken] = await Promise.all(
    ['/admin/login', '/demo-token'].map(url => demo.inject({ method: 'GET', url, remoteAddress, headers })),
  )
  if (admin?.statusCode !== 200)
    expect([admin?.statusCode, admin?.body]).toEqual([403, expect.stringContaining('PUBLIC_URL')])
  expect(demoToken?.headers['cache-control']).toBe('no-store')
  return { admin: admin?.statusCode === 200, token: demoToken?.json().token }
}

test.each([
  ['127.0.0.1', { host: 'localhost:8080' }],
  ['127.0.0.1', { host: '127.8.8.8:9999' }],
  ['127.200.0.1', { host: 'localhost' }],
  ['::1', { host: '[::1]:8080' }],
  ['::ffff:127.0.0.1', { host: 'localhost' }],
])('a browser on this machine gets API access and the demo token: %s, %j', async (address, headers) => {
  expect(await openTo(address, headers)).toEqual({ admin: true, token })
})

test.each([
  ['192.0.2.7', { host: 'localhost:8080' }],
  ['172.17.0.1', { host: 'localhost:8080' }],
  ['2001:db8::1', { host: '[::1]:8080' }],
  ['::127.0.0.1', { host: 'localhost' }],
  ['127.0.0.1', { host: 'gateway.example.com' }],
  ['127.0.0.1', { host: '10.0.0.1:8080' }],
  ['127.0.0.1', { host: 'localhost.example.com' }],
  ['127.0.0.1', { host: '127.0.0.1.example.com' }],
  ['127.0.0.1', { host: 'localhost', 'x-forwarded-for': '192.0.2.7' }],
  ['127.0.0.1', { host: 'localhost', forwarded: 'for=192.0.2.7' }],
  ['127.0.0.1', { host: 'localhost', 'x-real-ip': '192.0.2.7' }],
  ['127.0.0.1', { host: 'localhost', via: '1.1 proxy' }],
])('other clients get neither API access nor the demo token: %s, %j', async (address, headers) => {
  expect(await openTo(address, headers)).toEqual({ admin: false, token: null })
})

test('nginx, which by default adds no header about the browser, gets neither API access nor the token', async () => {
  const port = Number(new URL(await demo.listen({ host: '127.0.0.1', port: 0 })).port)
  const ask = (path: string, version: string) => {
    const socket = connect(port, '127.0.0.1')
    // The request that nginx 1.22 sends for `proxy_pass http://127.0.0.1:8080`.
    socket.write(
      `GET ${path} HTTP/${version}\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n`,
    )
    return text(socket)
  }
  expect(await ask('/admin/login', '1.1')).toContain('HTTP/1.1 200')
  expect(await ask('/admin/login', '1.0')).toContain('HTTP/1.1 403')
  expect(await ask('/demo-token', '1.1')).toContain(token)
  expect(await ask('/demo-token', '1.0')).not.toContain(token)
})
