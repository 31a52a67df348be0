import { Alert, Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** A field with both values as text. */
export interface ConflictRow {
  readonly label: string;
  readonly mine: string;
  readonly theirs: string;
}

interface RecordConflictProps {
  readonly rows: readonly ConflictRow[];
  readonly isSaving: boolean;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

/** Shows both versions of each changed field after somebody else has changed the record. */
export function RecordConflict({ rows, isSaving, onKeepMine, onTakeTheirs }: RecordConflictProps) {
  const { t } = useTranslation();
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
            {rows.map(({ label, mine, theirs }) => (
              <tr key={label}>
                <td>{label}</td>
                <td>{mine || '–'}</td>
                <td>{theirs || '–'}</td>
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
