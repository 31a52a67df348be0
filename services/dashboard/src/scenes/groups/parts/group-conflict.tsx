import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import type { Group } from '../../../common/fleet/vehicle.ts';
import { changedFields } from '../../../common/forms/changed-fields.ts';
import { RecordConflict } from '../../../common/forms/record-conflict.tsx';
import { type GroupForm, toBody, toForm } from '../model.ts';

interface GroupConflictProps {
  /** The record as the form loaded it. */
  readonly base: Group;
  readonly mine: GroupForm;
  /** The record as it is stored now. */
  readonly stored: Group;
  readonly groups: readonly NamedGroup[];
  readonly isSaving: boolean;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

const fields = ['name', 'parent_group', 'color', 'description', 'geofences', 'drivers'] as const;

/** Shows the fields that one of both versions has changed. */
export function GroupConflict({ base, mine, stored, groups, ...actions }: GroupConflictProps) {
  const { t } = useTranslation('groups');
  const [before, own, theirs] = [toBody(toForm(base)), toBody(mine), toBody(toForm(stored))];
  const changed = { ...changedFields(before, own), ...changedFields(before, theirs) };
  const show = (field: (typeof fields)[number], value: unknown): string => {
    if (field === 'parent_group') return groups.find(({ id }) => id === value)?.name ?? t('topLevel');
    return Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : '';
  };
  const rows = fields
    .filter((field) => field in changed)
    .map((field) => ({
      label: t(`field.${field}`),
      mine: show(field, own[field]),
      theirs: show(field, theirs[field]),
    }));
  return <RecordConflict rows={rows} {...actions} />;
}
