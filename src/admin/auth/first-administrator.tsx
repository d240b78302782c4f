import { Section } from '../components/layout.tsx'

/** The command that creates an administrator, for each way to run the service. */
export function AdminCreateCommand() {
  return (
    <>
      <pre class="code-block">npm run cli -- admin create --email you@example.com</pre>
      <p>
        With an image, the command follows its name:{' '}
        <code>docker run -e DATABASE_URL=… voucher-gateway admin create --email you@example.com</code>.
      </p>
    </>
  )
}

/** Instructions to create the first administrator. The sign-in page shows them while there is no administrator. */
export function NoAdministratorYet({ openId }: { openId: boolean }) {
  return (
    <Section id="no-administrator" title="There is no administrator yet">
      <p>
        Open the one-time link that the service printed when it was started in a terminal. Or create a link with this
        command, where the service runs:
      </p>
      <AdminCreateCommand />
      {openId && <p>Or sign in with your organisation.</p>}
    </Section>
  )
}
