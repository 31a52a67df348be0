import { useTranslation } from 'react-i18next';
import { RecordConflict } from '../../../common/forms/record-conflict.tsx';
import { findChangedFields, type VehicleField, type VehicleForm } from './model.ts';

interface ConflictProps {
  /** The record as the form loaded it. */
  readonly base: VehicleForm;
  readonly mine: VehicleForm;
  /** The record as it is stored now. */
  readonly theirs: VehicleForm;
  readonly isSaving: boolean;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

const toText = (value: VehicleForm[VehicleField]): string =>
  typeof value === 'string' ? value : value.map((item) => (typeof item === 'number' ? item : item.name)).join(', ');

/** Shows both versions of each changed field after the record was changed elsewhere. */
export function Conflict({ base, mine, theirs, ...others }: ConflictProps) {
  const { t } = useTranslation('vehicle');
  const changed = new Set([...findChangedFields(base, mine), ...findChangedFields(base, theirs)]);
  const rows = [...changed].map((field) => ({
    label: t(`field.${field}`),
    mine: toText(mine[field]),
    theirs: toText(theirs[field]),
  }));
  return <RecordConflict rows={rows} {...others} />;
}
