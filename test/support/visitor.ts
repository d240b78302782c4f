import { formsOf } from '../admin/support.ts'

/** A minimal browser for a service in a separate process, which keeps cookies and sends the header Origin. */
export function createVisitor(origin: string) {
  const jar = new Map<string, string>()
  async function ask(path: string, body?: URLSearchParams): Promise<{ status: number; html: string }> {
    const answer = await fetch(new URL(path, origin), {
      redirect: 'manual',
      method: body ? 'POST' : 'GET',
      headers: { cookie: [...jar].map(pair => pair.join('=')).join('; '), ...(body && { origin }) },
      ...(body && { body }),
    })
    for (const cookie of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.split(';', 1)[0]?.split(/=(.*)/s) ?? []
      jar.set(name, value)
    }
    const html = await answer.text()
    // On a busy machine, the check of a password can exceed the deadline of the service.
    return answer.status === 503 ? ask(path, body) : { status: answer.status, html }
  }
  return {
    /** Its cookies, by name. */
    jar,
    get: (path: string) => ask(path),
    /** Loads a page, fills in the last form and submits it. A page without a form is only loaded. */
    async submit(path: string, fields: Record<string, string>) {
      const page = await ask(path)
      const form = formsOf(page.html).findLast(each => each.method === 'post')
      if (!form) return { ...page, sent: null }
      for (const [name, value] of Object.entries(fields)) form.fields.set(name, value)
      return { ...(await ask(form.action || path, form.fields)), sent: form.fields }
    },
  }
}
