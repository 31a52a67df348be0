import { type FormEvent, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';

interface PasswordFormProps {
  readonly isWrong: boolean;
  readonly onSubmit: (password: string) => Promise<void>;
}

/** Requests the password of a protected link. */
export function PasswordForm({ isWrong, onSubmit }: PasswordFormProps) {
  const { t } = useTranslation('share');
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [isSending, setIsSending] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    setIsSending(true);
    await onSubmit(input.current?.value ?? '');
    setIsSending(false);
  };
  return (
    <main className="share-notice">
      <h1>{t('protected')}</h1>
      <p id={`${id}-hint`}>{t('passwordHint')}</p>
      <form className="share-password" onSubmit={(event) => void submit(event)}>
        <label htmlFor={id}>{t('password')}</label>
        <input
          ref={input}
          id={id}
          name="password"
          type="password"
          autoComplete="off"
          autoFocus
          required
          aria-invalid={isWrong}
          aria-describedby={isWrong ? `${id}-fault` : `${id}-hint`}
        />
        {isWrong ? (
          <p id={`${id}-fault`} className="share-fault" role="alert">
            {t('wrongPassword')}
          </p>
        ) : null}
        <button type="submit" className="share-button" disabled={isSending}>
          {t('open')}
        </button>
      </form>
    </main>
  );
}
