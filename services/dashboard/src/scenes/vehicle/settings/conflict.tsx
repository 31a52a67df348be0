import { Alert, Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
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

const showValue = (value: VehicleForm[VehicleField]): string => {
  if (typeof value === 'string') return value === '' ? '–' : value;
  return value.map((item) => (typeof item === 'number' ? item : item.name)).join(', ') || '–';
};

/** Shows both versions of each changed field after the record was changed elsewhere. */
export function Conflict({ base, mine, theirs, isSaving, onKeepMine, onTakeTheirs }: ConflictProps) {
  const { t } = useTranslation('vehicle');
  const changed = new Set([...findChangedFields(base, mine), ...findChangedFields(base, theirs)]);
  return (
    <Alert color="critical" variant="outline" title={t('conflict.title')} role="alert">
      <div className="table-scroll">
        <table className="data">
          <thead>
            <tr>
              <th>{t('conflict.field')}</th>
              <th>{t('conflict.mine')}</th>
              <th>{t('conflict.theirs')}</th>
            </tr>
          </thead>
          <tbody>
            {[...changed].map((field) => (
              <tr key={field}>
                <td>{t(`field.${field}`)}</td>
                <td>{showValue(mine[field])}</td>
                <td>{showValue(theirs[field])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Group mt="sm" gap="sm">
        <Button size="xs" loading={isSaving} onClick={onKeepMine}>
          {t('conflict.keepMine')}
        </Button>
        <Button size="xs" variant="default" onClick={onTakeTheirs}>
          {t('conflict.takeTheirs')}
        </Button>
      </Group>
    </Alert>
  );
}
