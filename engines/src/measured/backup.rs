//! Calls that move whole tasks are measured like the other verbs, as `backup_dump` and so on.

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Result,
        backup::{Backup, BoardPiece, Edges, Restored, StoredTask},
    },
    name::{BoardName, TaskId},
};

use super::Measured;

#[async_trait]
impl Backup for Measured {
    async fn settle_edges(&self) -> Result<()> {
        self.measure("backup_settle_edges", &self.operations.backup_settle_edges, self.backup.settle_edges()).await
    }

    async fn dump(&self, ids: &[TaskId]) -> Result<Vec<Option<StoredTask>>> {
        self.measure("backup_dump", &self.operations.backup_dump, self.backup.dump(ids)).await
    }

    async fn restore(&self, tasks: Vec<StoredTask>) -> Result<Vec<Restored>> {
        self.measure("backup_restore", &self.operations.backup_restore, self.backup.restore(tasks)).await
    }

    async fn link(&self, tasks: Vec<Edges>) -> Result<u64> {
        self.measure("backup_link", &self.operations.backup_link, self.backup.link(tasks)).await
    }

    async fn board_marks(&self, board: &BoardName) -> Result<Vec<String>> {
        let call = self.backup.board_marks(board);
        self.measure("backup_board_marks", &self.operations.backup_board_marks, call).await
    }

    async fn restore_board(&self, piece: BoardPiece) -> Result<Vec<Restored>> {
        let call = self.backup.restore_board(piece);
        self.measure("backup_restore_board", &self.operations.backup_restore_board, call).await
    }
}
