import { passwordHint } from '../../domain/administrator/password.ts'
import { Field, type FieldProps } from '../components/field.tsx'

/** The e-mail of the account, for password managers. */
export const HiddenEmail = ({ email }: { email: string }) => (
  <input type="text" name="email" value={email} autocomplete="username" hidden readonly />
)

/** A password that must be given. */
export const PasswordField = (props: FieldProps) => <Field {...props} type="password" required />

/** A new password, entered twice. */
export const NewPasswordFields = () => (
  <>
    <PasswordField name="password" label="New password" hint={passwordHint} autocomplete="new-password" />
    <PasswordField name="again" label="The same password again" autocomplete="new-password" />
  </>
)
