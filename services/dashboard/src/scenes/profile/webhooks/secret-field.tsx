import { PasswordInput, SegmentedControl, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';

interface SecretFieldProps {
  readonly value?: string;
  readonly error?: ReactNode;
  /** Receives the empty text if the server shall generate the secret. */
  readonly onChange?: (value: string) => void;
}

/** Chooses between a generated secret and one of the user. */
export function SecretField({ value, error, onChange }: SecretFieldProps) {
  const { t } = useTranslation('profile');
  const [isOwn, setIsOwn] = useState(false);
  const choose = (choice: string): void => {
    setIsOwn(choice === 'own');
    onChange?.('');
  };
  return (
    <Stack gap="xs">
      <SegmentedControl
        aria-label={t('webhooks.secret')}
        data={[
          { value: 'generate', label: t('webhooks.generateSecret') },
          { value: 'own', label: t('webhooks.ownSecret') },
        ]}
        value={isOwn ? 'own' : 'generate'}
        onChange={choose}
      />
      {isOwn ? (
        <PasswordInput
          label={t('webhooks.secret')}
          description={t('webhooks.secretHint')}
          autoComplete="off"
          required
          minLength={8}
          maxLength={128}
          visibilityToggleButtonProps={{ 'aria-label': t('webhooks.showSecret') }}
          value={value ?? ''}
          error={error}
          onChange={({ currentTarget }) => onChange?.(currentTarget.value)}
        />
      ) : null}
    </Stack>
  );
}
