import { NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../../common/session/session-context.ts';
import type { PartnerForm } from '../partner-form.ts';
import type { Partner } from '../queries.ts';

interface PartnerFieldsProps {
  readonly form: UseFormReturnType<PartnerForm>;
  /** Null for a new partner. */
  readonly partner: Partner | null;
}

export function PartnerFields({ form, partner }: PartnerFieldsProps) {
  const { t } = useTranslation('devices');
  const { role } = useMe();
  // Only owners may change what partners send to terminals.
  const mayChangeLevel = role === 'owner' || role === 'superadmin';
  return (
    <>
      <TextInput data-autofocus label={t('partners.column.name')} required {...form.getInputProps('name')} />
      <Textarea
        label={t('partners.column.prefixes')}
        description={t('partners.listHint')}
        rows={2}
        {...form.getInputProps('imei_prefixes')}
      />
      <Textarea
        label={t('partners.column.addresses')}
        description={t('partners.listHint')}
        rows={2}
        {...form.getInputProps('ip_allowlist')}
      />
      <TextInput
        label={t('partners.column.commandUrl')}
        description={t('partners.urlHint')}
        inputMode="url"
        {...form.getInputProps('command_url')}
      />
      <PasswordInput
        label={t('partners.commandToken')}
        description={partner?.has_command_token === true ? t('partners.tokenStored') : undefined}
        autoComplete="off"
        visibilityToggleButtonProps={{ 'aria-label': t('partners.showToken') }}
        {...form.getInputProps('command_token')}
      />
      {mayChangeLevel ? <LevelFields form={form} partner={partner} /> : null}
    </>
  );
}

/** The level, and the code that a change of it requires. */
function LevelFields({ form, partner }: PartnerFieldsProps) {
  const { t } = useTranslation('devices');
  return (
    <>
      <NativeSelect
        label={t('partners.column.level')}
        data={(['none', 'standard', 'critical'] as const).map((value) => ({
          value,
          label: t(`partners.level.${value}`),
        }))}
        {...form.getInputProps('command_level')}
      />
      {form.values.command_level === (partner?.command_level ?? 'standard') ? null : (
        <TextInput
          label={t('partners.code')}
          description={t('partners.codeHint')}
          inputMode="numeric"
          autoComplete="one-time-code"
          {...form.getInputProps('code')}
        />
      )}
    </>
  );
}
