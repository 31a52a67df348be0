import { useTranslation } from 'react-i18next';
import { RecordConflict } from '../../../common/forms/record-conflict.tsx';
import { type PartnerForm, toChange, toForm } from '../partner-form.ts';
import type { Partner } from '../queries.ts';

interface PartnerConflictProps {
  /** The record as the form loaded it. */
  readonly base: Partner;
  readonly mine: PartnerForm;
  /** The record as it is stored now. */
  readonly stored: Partner;
  readonly isSaving: boolean;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

/** Fields of the form with the names of their labels. The token of the command server is never read back. */
const labels = {
  name: 'name',
  imei_prefixes: 'prefixes',
  ip_allowlist: 'addresses',
  command_url: 'commandUrl',
  command_level: 'level',
} as const;

/** Shows the fields that one of both versions has changed. */
export function PartnerConflict({ base, mine, stored, ...actions }: PartnerConflictProps) {
  const { t } = useTranslation('devices');
  const theirs = toForm(stored);
  const changed = { ...toChange(mine, base), ...toChange(theirs, base) };
  const show = (field: keyof typeof labels, form: PartnerForm): string =>
    field === 'command_level' ? t(`partners.level.${form.command_level}`) : form[field].replaceAll('\n', ', ');
  const rows = (Object.keys(labels) as (keyof typeof labels)[])
    .filter((field) => field in changed)
    .map((field) => ({
      label: t(`partners.column.${labels[field]}`),
      mine: show(field, mine),
      theirs: show(field, theirs),
    }));
  return <RecordConflict rows={rows} {...actions} />;
}
